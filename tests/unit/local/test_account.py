import os
import pwd
from pathlib import Path

import pytest

from local import account
from local.account import is_open, link, open_to_all, share, unprivileged_account
from local.errors import EngineError


def test_a_file_below_a_closed_folder_is_not_open(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    inside = closed / "file"
    inside.write_text("x")
    inside.chmod(0o644)
    assert not is_open(inside)
    assert not is_open(closed)
    assert is_open(Path("/etc/passwd"))
    assert is_open(Path("/etc"))


def test_what_is_open_is_used_where_it_lies(tmp_path: Path) -> None:
    assert share([Path("/usr/bin"), Path("/usr/lib")], tmp_path / "copy") == Path("/usr")
    assert not (tmp_path / "copy").exists()


def test_what_is_closed_is_copied_for_all_to_read(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "program" / "bin").mkdir(parents=True)
    (closed / "libraries").mkdir()
    run = closed / "program" / "bin" / "run"
    secret = closed / "libraries" / "secret"
    for path, mode in ((run, 0o755), (secret, 0o600)):
        path.write_text(path.name)
        path.chmod(mode)
    closed.chmod(0o700)

    sources = [closed / "program", closed / "libraries"]
    shared = share(sources, tmp_path / "shared")
    assert shared == share(sources, tmp_path / "shared") == tmp_path / "shared"
    assert (shared / "program/bin/run").read_text() == "run"
    assert (shared / "program/bin/run").stat().st_mode & 0o777 == 0o755
    assert (shared / "libraries/secret").stat().st_mode & 0o777 == 0o644
    assert (shared / "libraries").stat().st_mode & 0o005 == 0o005
    assert secret.stat().st_mode & 0o777 == 0o600, "the original stays closed"


def test_an_unfinished_copy_is_made_anew(tmp_path: Path) -> None:
    source = tmp_path / "closed" / "program"
    source.mkdir(parents=True)
    source.parent.chmod(0o700)
    (source / "file").write_text("x")
    (tmp_path / "shared.new" / "program").mkdir(parents=True)
    (tmp_path / "shared.new" / "program" / "stale").touch()
    shared = share([source], tmp_path / "shared")
    assert [path.name for path in (shared / "program").iterdir()] == ["file"]


def test_linking_takes_no_space_where_it_can(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("x")
    source.chmod(0o644)
    link(source, tmp_path / "target")
    assert (tmp_path / "target").samefile(source)


def test_linking_copies_where_links_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    source = tmp_path / "source"
    source.write_text("x")
    link(source, tmp_path / "target")
    assert (tmp_path / "target").read_text() == "x"
    assert not (tmp_path / "target").samefile(source)


def test_opening_keeps_programs_programs_and_files_files(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    for name, mode in (("program", 0o700), ("file", 0o600)):
        path = tmp_path / "folder" / name
        path.touch()
        path.chmod(mode)
    open_to_all(tmp_path / "folder")
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "folder").iterdir()}
    assert modes == {"program": 0o755, "file": 0o644}
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o755


def test_root_runs_engines_as_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    chosen = unprivileged_account()
    assert chosen is not None
    assert chosen.uid == pwd.getpwnam("nobody").pw_uid != 0


def test_a_user_runs_engines_as_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert unprivileged_account() is None


def test_root_without_such_a_user_gets_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(account, "USER", "no-such-user")
    with pytest.raises(EngineError, match="start Winnow as an ordinary user"):
        unprivileged_account()
