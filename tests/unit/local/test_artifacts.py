import errno
import hashlib
import os
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local import artifacts
from local.artifacts import (
    Cache,
    Download,
    cache_folder,
    model_files,
    reporting_disk_trouble,
)
from local.errors import EngineError
from local.pins import Artifact, ModelFile

CONTENT = b"what the file holds"


def make_artifact(name: str = "thing", content: bytes = CONTENT) -> Artifact:
    digest = hashlib.sha256(content).hexdigest()
    return Artifact("lib", "org.example", name, "1.0", "jar", digest, len(content))


class Source:
    """Serves the same bytes for everything, after failing as often as it is told to."""

    def __init__(self, content: bytes = CONTENT, failures: tuple[Exception, ...] = ()) -> None:
        self.content = content
        self.failures = list(failures)
        self.calls = 0

    def __call__(self, artifact: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
        self.calls += 1
        folder.mkdir(parents=True)
        path = folder / artifact.filename
        if self.failures:
            path.write_bytes(self.content[:5])
            advance(5)
            raise self.failures.pop(0)
        path.write_bytes(self.content)
        advance(len(self.content))
        return path


class Counting:
    """A progress that sums up what it is told."""

    def __init__(self) -> None:
        self.total = self.done = self.finished = 0

    def begin(self, task: str, total: int = 0) -> None:  # noqa: ARG002
        self.total = total

    def advance(self, task: str, amount: int) -> None:  # noqa: ARG002
        self.done += amount

    def finish(self, task: str) -> None:  # noqa: ARG002
        self.finished += 1


def list_files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def test_an_artifact_is_fetched_once(tmp_path: Path) -> None:
    source = Source()
    artifact = make_artifact()
    for _ in range(2):
        path = Cache(tmp_path, source).fetch([artifact])[artifact]
        assert path.read_bytes() == CONTENT
    assert source.calls == 1
    assert list_files(tmp_path) == ["artifacts/thing-1.0.jar"]


def test_every_user_may_read_what_was_fetched(tmp_path: Path) -> None:
    artifact = make_artifact()
    before = os.umask(0o077)
    try:
        path = Cache(tmp_path, Source()).fetch([artifact])[artifact]
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_wrong_file_is_refused_and_thrown_away(tmp_path: Path) -> None:
    artifact = make_artifact()
    with pytest.raises(EngineError, match=r"thing-1\.0\.jar is not the file") as caught:
        Cache(tmp_path, Source(b"something else")).fetch([artifact])
    assert artifact.sha256 in str(caught.value)
    assert hashlib.sha256(b"something else").hexdigest() in str(caught.value)
    assert list_files(tmp_path) == []


@pytest.mark.parametrize("damaged", [b"", CONTENT[:7], b"what the file h0lds"])
def test_a_damaged_file_is_fetched_again(tmp_path: Path, damaged: bytes) -> None:
    artifact = make_artifact()
    path = tmp_path / "artifacts" / artifact.filename
    path.parent.mkdir()
    path.write_bytes(damaged)
    assert Cache(tmp_path, Source()).fetch([artifact])[artifact].read_bytes() == CONTENT


def test_a_download_that_breaks_off_is_tried_again(tmp_path: Path) -> None:
    source = Source(failures=(ConnectionError("reset"), RuntimeError("not found")))
    progress = Counting()
    artifact = make_artifact()
    path = Cache(tmp_path, source).fetch([artifact], progress)[artifact]
    assert path.read_bytes() == CONTENT
    assert progress.done == progress.total == len(CONTENT)
    assert progress.finished == 1
    assert list_files(tmp_path) == ["artifacts/thing-1.0.jar"]


def test_after_three_failures_the_error_says_what_to_look_at(tmp_path: Path) -> None:
    source = Source(failures=(ConnectionError(), TimeoutError(), ConnectionError()))
    with pytest.raises(EngineError, match=r"thing-1\.0\.jar could not be downloaded.*HTTPS_PROXY"):
        Cache(tmp_path, source).fetch([make_artifact()])
    assert source.calls == 3
    assert list_files(tmp_path) == []


def test_a_full_disk_is_not_taken_for_a_broken_network(tmp_path: Path) -> None:
    source = Source(failures=(OSError(errno.ENOSPC, "No space left on device"),))
    with pytest.raises(EngineError, match=r"No space left on device\. Free some space"):
        Cache(tmp_path, source).fetch([make_artifact()])
    assert source.calls == 1


def test_a_cache_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match="Choose a folder, not a file"):
        Cache(tmp_path / "file" / "winnow", Source()).fetch([make_artifact()])


def test_a_copy_that_fails_names_where_it_should_go(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/from", None, "/to")
    with (
        pytest.raises(EngineError, match=r"^/to can't be written"),
        reporting_disk_trouble(tmp_path),
    ):
        raise full


def test_two_caches_on_one_folder_fetch_at_once(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=30)
    source = Source()

    def fetch_together(artifact: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
        both.wait()
        path = source(artifact, folder, advance)
        both.wait()
        return path

    artifact = make_artifact()
    with ThreadPoolExecutor() as pool:
        fetches = [pool.submit(Cache(tmp_path, fetch_together).fetch, [artifact]) for _ in range(2)]
        paths = [fetch.result()[artifact] for fetch in fetches]
    assert [path.read_bytes() for path in paths] == [CONTENT, CONTENT]
    assert list_files(tmp_path) == ["artifacts/thing-1.0.jar"]


def test_eight_are_fetched_at_once(tmp_path: Path) -> None:
    eight = threading.Barrier(8, timeout=30)
    source = Source()

    def wait_for_seven_others(a: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
        eight.wait()
        return source(a, folder, advance)

    wanted = [make_artifact(f"thing{number}") for number in range(16)]
    assert len(Cache(tmp_path, wait_for_seven_others).fetch(wanted)) == 16


def test_a_fetch_can_be_stopped(tmp_path: Path) -> None:
    caches: list[Cache] = []

    def stop_in_the_middle(a: Artifact, folder: Path, advance: Callable[[int], None]) -> Path:
        caches[0].stop()
        return Source()(a, folder, advance)

    caches.append(Cache(tmp_path, stop_in_the_middle))
    with pytest.raises(EngineError, match="stopped"):
        caches[0].fetch([make_artifact(), make_artifact("other")])
    assert list_files(tmp_path) == []


def test_what_a_killed_run_left_is_swept_after_a_day(tmp_path: Path) -> None:
    for name, age in (("partial-old", 25 * 3600), ("partial-new", 60)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "half").touch()
        os.utime(tmp_path / name, (time.time() - age, time.time() - age))
    Cache(tmp_path, Source()).fetch([make_artifact()])
    assert list_files(tmp_path / "partial-new") == ["half"]
    assert not (tmp_path / "partial-old").exists()


def test_the_cache_lies_where_the_user_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/winnow")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/winnow")


@pytest.fixture
def tiny_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Download:
    """A model of two small files in an archive, under the name `tiny`."""
    members = {"tiny.onnx": b"weights", "tiny-tokenizer.json": b"{}"}
    with zipfile.ZipFile(tmp_path / "tiny.jar", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    content = (tmp_path / "tiny.jar").read_bytes()
    pinned = tuple(
        ModelFile(name, member, hashlib.sha256(members[member]).hexdigest())
        for name, member in zip(("model.onnx", "tokenizer.json"), members, strict=True)
    )
    monkeypatch.setattr(artifacts, "MODEL_FILES", {"tiny": pinned})
    monkeypatch.setattr(artifacts, "find_model", lambda name: make_artifact(name, content))
    return Source(content)


def test_a_model_is_unpacked_and_repaired(tmp_path: Path, tiny_model: Download) -> None:
    cache = Cache(tmp_path / "cache", tiny_model)
    for _ in range(2):
        files = model_files("tiny", cache)
        assert files.model.read_bytes() == b"weights"
        assert files.tokenizer.read_bytes() == b"{}"
        files.model.write_bytes(b"damaged")
    assert sorted(list_files(tmp_path / "cache" / "models")) == [
        "tiny/model.onnx",
        "tiny/tokenizer.json",
    ]


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(EngineError, match=r"bge-huge.*bge-small-en-v1\.5, bge-small-zh-v1\.5"):
        model_files("bge-huge")
