import re

import pytest

from local.progress import PlainProgress


def test_plain_progress_tells_a_task_in_two_lines(capsys: pytest.CaptureFixture[str]) -> None:
    progress = PlainProgress()
    progress.begin("Downloading", 53_000_000)
    progress.advance("Downloading", 53_000_000)
    progress.finish("Downloading")
    progress.begin("Starting")
    out, err = capsys.readouterr()
    assert out == ""
    began, done, other = err.splitlines()
    assert began == "Downloading (53 MB) ..."
    assert re.fullmatch(r"Downloading: done in \d+\.\d s", done)
    assert other == "Starting ..."
