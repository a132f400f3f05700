"""The demo as `make demo` runs it: on engines of its own, from nothing, and once more."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from local.commands.demo import EXAMPLES

WINNOW = Path(sys.executable).parent / "winnow"
PATIENCE = 400


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    folder.parent.chmod(0o755)  # as root, the engines run as another user
    return folder


@pytest.fixture(scope="module")
def runs(home: Path) -> list[subprocess.CompletedProcess[str]]:
    """Two runs in one home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WINNOW_")}
    return [
        subprocess.run(  # noqa: S603, our own command
            [WINNOW, "demo", "--home", home],
            env=kept | {"WINNOW_OPENSEARCH_HEAP": "512m"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        for _ in range(2)
    ]


def test_it_ends_by_itself_and_leaves_nothing_running(
    runs: list[subprocess.CompletedProcess[str]], home: Path
) -> None:
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    engines = str((home / "engines").resolve()).encode()
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if engines in read(path)]
    assert not (home / "service.json").exists()


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


def test_a_second_run_changes_nothing(runs: list[subprocess.CompletedProcess[str]]) -> None:
    for name, folder in (("examples-en", "en"), ("examples-zh", "zh")):
        count = len(list((EXAMPLES / folder).glob("*.metadata.json")))
        first, second = (re.findall(rf"Dataset {name}: (.*)\.", run.stderr) for run in runs)
        assert first == [f"{count} new, 0 updated, 0 unchanged, 0 failed"]
        assert second == [f"0 new, 0 updated, {count} unchanged, 0 failed"]
    untimed = {re.sub(r"(?m)^.*\bms\b.*$|Milliseconds.*", "", run.stdout) for run in runs}
    assert len(untimed) == 1


def test_every_query_is_shown_with_what_it_must_find(
    runs: list[subprocess.CompletedProcess[str]],
) -> None:
    queries = json.loads((EXAMPLES / "queries.json").read_text(encoding="utf-8"))
    expected = json.loads((EXAMPLES / "expected.json").read_text(encoding="utf-8"))
    parts = re.split(r"(?m)^\d+\. ", runs[0].stdout)[1:]
    assert [part.splitlines()[0] for part in parts] == [query["title"] for query in queries]
    for query, part in zip(queries, parts, strict=True):
        wanted = expected[query["title"]]
        assert query["request"]["query"] in part
        assert all(title in part for title in wanted["present"])
        assert not any(title in part for title in wanted["absent"])
        if wanted["matched_documents"] is not None:
            assert f"pass the filter: {wanted['matched_documents']}." in part


def test_the_engine_itself_says_that_nothing_was_searched(
    runs: list[subprocess.CompletedProcess[str]],
) -> None:
    for run in runs:
        empty = run.stdout.partition("A filter that nothing satisfies")[2].partition("5. ")[0]
        assert "No search was sent: OpenSearch counted none." in empty
        assert run.stdout.count("Searches that OpenSearch counted: ") == 11


def test_the_threshold_and_the_explanation_are_seen(
    runs: list[subprocess.CompletedProcess[str]],
) -> None:
    cut = runs[0].stdout.partition("A threshold that cuts")[2].partition("8. ")[0]
    assert re.search(r"Candidates that fell out: [1-9]\d* by threshold\.", cut)
    explained = runs[0].stdout.partition("Every score explained")[2].partition("9. ")[0]
    assert "final = 0.50 · V + 0.50 · K" in explained
    assert "vector: rank · score" in explained
