import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from local import layout
from local.artifacts import Cache
from local.layout import lay_out, write_anew
from local.pins import Artifact
from local.progress import NoProgress


def zip_of(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


CONTENTS = {
    "core": b"core jar",
    "netty": b"netty jar",
    "painless": b"painless jar",
    "knn": zip_of(descriptor="knn", jar="knn jar"),
}
PLACES = {
    "core": "lib",
    "netty": "modules/transport-netty4",
    "painless": "modules/lang-painless",
    "knn": "plugins/opensearch-knn",
}


def make_pins(version: str) -> tuple[Artifact, ...]:
    return tuple(
        Artifact(
            PLACES[name],
            "org.example",
            name,
            version,
            "zip" if name == "knn" else "jar",
            hashlib.sha256(content).hexdigest(),
            len(content),
        )
        for name, content in CONTENTS.items()
    )


def serve(artifact: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
    folder.mkdir(parents=True)
    path = folder / artifact.filename
    path.write_bytes(CONTENTS[artifact.name])
    advance(artifact.size)
    return path


@pytest.fixture
def lay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    def lay(version: str) -> Path:
        monkeypatch.setattr(layout, "engine_pins", lambda: make_pins(version))
        lay_out(tmp_path / "opensearch", Cache(tmp_path / "cache", serve), NoProgress())
        return tmp_path / "opensearch"

    return lay


def test_everything_is_in_its_place(lay: Callable[[str], Path]) -> None:
    folder = lay("1")
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        "layout.sha256",
        "lib/core-1.jar",
        "modules/transport-netty4/netty-1.jar",
        "modules/transport-netty4/plugin-descriptor.properties",
        "modules/transport-netty4/plugin-security.policy",
        "modules/lang-painless/painless-1.jar",
        "modules/lang-painless/plugin-descriptor.properties",
        "modules/lang-painless/plugin-security.policy",
        "plugins/opensearch-knn/descriptor",
        "plugins/opensearch-knn/jar",
    }
    described = (folder / "modules/lang-painless/plugin-descriptor.properties").read_text()
    assert "name=lang-painless\n" in described
    assert "classname=org.opensearch.painless.PainlessPlugin\n" in described


def test_a_finished_folder_is_left_alone(lay: Callable[[str], Path]) -> None:
    before = lay("1").stat().st_ino
    assert lay("1").stat().st_ino == before


def test_other_pins_make_it_anew(lay: Callable[[str], Path]) -> None:
    lay("1")
    folder = lay("2")
    assert [path.name for path in (folder / "lib").iterdir()] == ["core-2.jar"]


def test_an_unfinished_folder_is_made_anew(lay: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "opensearch.new" / "lib").mkdir(parents=True)
    (tmp_path / "opensearch.new" / "lib" / "stale.jar").touch()
    assert [path.name for path in (lay("1") / "lib").iterdir()] == ["core-1.jar"]


def test_writing_anew_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "config").symlink_to(tmp_path / "precious")
    write_anew(tmp_path / "config", "new")
    assert (tmp_path / "precious").read_text() == "kept"
    assert (tmp_path / "config").read_text() == "new"
