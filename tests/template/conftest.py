import json
from typing import Any

import pytest

from tests.artifacts import SAM_FOLDER, Artifact, build, build_artifacts, read_template


@pytest.fixture(scope="session")
def artifacts() -> dict[str, Artifact]:
    return build_artifacts()


@pytest.fixture(scope="session")
def template() -> dict[str, Any]:
    return read_template()


@pytest.fixture(scope="session")
def resources() -> dict[str, Any]:
    """The resources of plain CloudFormation that SAM makes of the template."""
    build(".aws-sam/expanded.json")
    expanded = json.loads((SAM_FOLDER / "expanded.json").read_text(encoding="utf-8"))
    return dict(expanded["Resources"])
