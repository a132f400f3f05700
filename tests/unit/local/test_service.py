import json
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from local.bars import watching
from local.home import Home
from local.service import RECORD, Service, _recorded, find_service, run_service
from shared.errors import WinnowError

SERVICE = Service("http://127.0.0.1:1", "k" * 32, {"index_prefix": "winnow"}, os.getpid())


def test_others_find_the_service_while_it_runs(tmp_path: Path) -> None:
    home = Home(tmp_path, None)
    assert find_service(home) is None
    with home.locked(), _recorded(home, SERVICE):
        assert find_service(home) == SERVICE
        assert stat.S_IMODE((tmp_path / RECORD).stat().st_mode) == 0o600
    assert find_service(home) is None
    assert not (tmp_path / RECORD).exists()


def test_what_a_killed_service_left_is_not_believed(tmp_path: Path) -> None:
    home = Home(tmp_path, None)
    (tmp_path / RECORD).write_text(json.dumps(asdict(SERVICE)))
    assert find_service(home) is None
    with home.locked():
        (tmp_path / RECORD).write_text(json.dumps(asdict(SERVICE) | {"pid": 1}))
        assert find_service(home) is None
        (tmp_path / RECORD).write_text("")
        assert find_service(home) is None


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        yield unheard.getsockname()[1]


@pytest.fixture
def unstarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment of no settings, in which no engine may be started."""

    def start(*_: Any, **__: Any) -> None:
        pytest.fail("an engine was started")

    monkeypatch.setattr("local.stack.start", start)
    for name in [name for name in os.environ if name.startswith("WINNOW_")]:
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("unstarted")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WINNOW_BOOTSTRAP_KEY", "hunter2"),
        ("WINNOW_BOOTSTRAP_KEY", "hunter2" * 5 + "\n"),
        ("WINNOW_BOOTSTRAP_KEY", "hunter2 " * 5),
        ("WINNOW_BOOTSTRAP_KEY", "hunter2钥匙" * 5),
        ("WINNOW_RETRIEVAL_DEPTH", "99"),
        ("WINNOW_RETRIEVAL_DEPTH", "hunter2"),
        ("WINNOW_INDEX_PREFIX", "hunter2\udcff"),
        ("WINNOW_CONTENT_URL", "garbage"),
        ("WINNOW_DATABASE_URL", "hunter2"),
        ("WINNOW_DATABASE_URL", "postgresql+pg8000://u:hunter2@127.0.0.1:port/d"),
        ("WINNOW_DATABASE_URL", "postgresql://u:hunter2@127.0.0.1/d"),
        ("WINNOW_OPENSEARCH_URL", "hunter2"),
        ("WINNOW_OPENSEARCH_URL", "http://u:hunter2@127.0.0.1:port"),
    ],
)
def test_a_wrong_setting_is_named_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert_refused(tmp_path, name)


@pytest.mark.usefixtures("unstarted")
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("WINNOW_DATABASE_URL", "postgresql+pg8000://u:hunter2@127.0.0.1:{port}/d"),
        ("WINNOW_OPENSEARCH_URL", "http://u:hunter2@127.0.0.1:{port}"),
    ],
)
def test_a_server_that_does_not_answer_is_named_by_its_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_port: int, name: str, url: str
) -> None:
    monkeypatch.setenv(name, url.format(port=closed_port))
    assert_refused(tmp_path, name)


def assert_refused(folder: Path, setting: str) -> None:
    with (
        watching() as watcher,
        pytest.raises(WinnowError) as raised,
        run_service(Home(folder, None), watcher),
    ):
        pytest.fail("it runs")
    said = str(raised.value)
    assert said.startswith(setting)
    assert "\n" not in said
    assert "hunter2" not in said
    assert not list(folder.iterdir())
