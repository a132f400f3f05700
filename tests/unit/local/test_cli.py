"""What is typed wrongly is told on one line, with exit code 2, before anything is started."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from local import cli
from shared.http.bodies import MOST_TOP_K

WINNOW = Path(sys.executable).parent / "winnow"
SEARCH = ["search", "plan", "--dataset", "x"]


@pytest.fixture(autouse=True)
def nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.commands.search.search", lambda *_, **__: None)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["search", "", "--dataset", "x"], "query"),
        (["search", " \u3000\n", "--dataset", "x"], "query"),
        ([*SEARCH, "--top-k", "0"], "--top-k"),
        ([*SEARCH, "--top-k", str(MOST_TOP_K + 1)], "--top-k"),
        ([*SEARCH, "--threshold", "2"], "--threshold"),
        ([*SEARCH, "--threshold", "-1.1"], "--threshold"),
        ([*SEARCH, "--threshold", "nan"], "--threshold"),
    ],
)
def test_a_value_out_of_range_is_wrong_usage(arguments: list[str], names: str) -> None:
    answer = CliRunner().invoke(cli.app, arguments)
    assert answer.exit_code == 2
    assert names in answer.stderr.lower()


@pytest.mark.parametrize(
    "more",
    [[], ["--top-k", str(MOST_TOP_K)], ["--threshold", "1"], ["--threshold", "-1"]],
)
def test_values_up_to_their_limits_are_fine(more: list[str]) -> None:
    assert CliRunner().invoke(cli.app, [*SEARCH, *more]).exit_code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest", "", "--dataset", "x"],
        ["ingest", ".", "", "--dataset", "x"],
        ["stop", "--home", ""],
        ["demo", "--home", ""],
        ["eval", ""],
        ["eval-filter", ""],
    ],
)
def test_an_empty_path_is_wrong_usage_and_not_the_working_folder(arguments: list[str]) -> None:
    answer = CliRunner().invoke(cli.app, arguments)
    assert answer.exit_code == 2
    assert "is empty" in answer.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", b"a\xffb", "--dataset", "x"],
        ["search", "plan", "--dataset", b"a\xffb"],
        ["ingest", b"a\xffb", "--dataset", "x"],
        ["eval", ".", "--method", b"a\xffb"],
        ["stop", "--home", b"a\xffb"],
        [b"a\xffb"],
    ],
)
def test_an_argument_that_is_not_utf8_is_wrong_usage(arguments: list[str | bytes]) -> None:
    ended = subprocess.run([WINNOW, *arguments], capture_output=True, text=True, check=False)  # noqa: S603, our own command
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "a?b is not UTF-8.\n"


@pytest.mark.parametrize(("closed", "said"), [(">&-", "Nothing runs in"), ("2>&-", ""), ("", "N")])
def test_streams_that_are_closed_are_no_trouble(tmp_path: Path, closed: str, said: str) -> None:
    script = f'exec "$0" stop --home "$1" {closed}'
    ended = subprocess.run(  # noqa: S603, our own command
        ["/bin/sh", "-c", script, WINNOW, tmp_path], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(said)
    assert "Traceback" not in ended.stderr
