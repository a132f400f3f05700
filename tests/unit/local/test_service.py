import json
import os
import stat
from dataclasses import asdict
from pathlib import Path

from local.home import Home
from local.service import RECORD, Service, _recorded, find_service

SERVICE = Service("http://127.0.0.1:1", "k" * 32, "http://127.0.0.1:2", os.getpid())


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
