import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A folder that the engines can reach even when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="winnow-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
