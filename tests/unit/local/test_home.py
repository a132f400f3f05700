import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local import home as module
from local.account import Account
from local.errors import EngineError
from local.home import Home, default_home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(module, "unprivileged_account", lambda: None)
    return Home.open(tmp_path / "home")


def test_a_second_use_names_the_first(home: Home) -> None:
    with (
        home.locked(),
        pytest.raises(EngineError, match=f"in use by process {os.getpid()}: stop that one"),
        Home(home.folder, None).locked(),
    ):
        pass


def test_the_owner_is_known_while_it_is_there(home: Home) -> None:
    assert home.read_owner() is None
    with home.locked():
        assert home.read_owner() == os.getpid()
    assert home.read_owner() is None


def test_a_lock_goes_with_its_process(home: Home) -> None:
    code = (
        "import sys; from pathlib import Path; from local.home import Home\n"
        "with Home(Path(sys.argv[1]), None).locked(): print('locked', flush=True); input()"
    )
    with subprocess.Popen(  # noqa: S603, our own code
        [sys.executable, "-c", code, str(home.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "locked\n"
        assert home.read_owner() == owner.pid
        with pytest.raises(EngineError, match=f"process {owner.pid}"), home.locked():
            pass
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    with home.locked():
        assert home.read_owner() == os.getpid()


def test_a_home_below_a_file_is_a_clear_error(tmp_path: Path, home: Home) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match=r"file.*can't be written.*not a file"):
        Home.open(tmp_path / "file" / "home")
    assert home.engines.is_dir()


def test_a_home_that_java_cannot_use_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="colon"):
        Home.open(tmp_path / "a:b")


def test_a_secret_is_made_once_and_kept_closed(home: Home) -> None:
    secret = home.read_secret("password")
    assert len(secret) >= 32
    assert home.read_secret("password") == secret
    assert home.read_secret("other") != secret
    assert (home.folder / "password").stat().st_mode & 0o777 == 0o600


def test_a_closed_home_keeps_engines_where_their_account_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = Account(os.geteuid(), os.getegid())
    monkeypatch.setattr(module, "unprivileged_account", lambda: me)
    monkeypatch.setattr(module, "ELSEWHERE", tmp_path / "elsewhere")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    engines = Home.open(closed / "home").engines
    assert engines.parent == tmp_path / "elsewhere"
    assert engines.stat().st_mode & 0o005 == 0o005
    assert Home.open(closed / "home").engines == engines, "and finds them again"

    engines.rmdir()
    assert Home.open(closed / "home").engines.is_dir(), "and makes them again when they are gone"
    assert Home.open(closed / "other").engines != Home.open(closed / "home").engines


def test_the_default_home_follows_the_users_wishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_home() == Path("/data/winnow")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/me")
    assert default_home() == Path("/home/me/.local/share/winnow")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_home() == Path("/var/lib/winnow")
