"""`winnow eval-filter` against a chat server of this machine."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from local.cli import app
from local.evaluation.questions import QUESTIONS
from shared.errors import ConfigurationError
from tests.servers.chat import OpenAIChatServer, write_completion
from tests.servers.openai import refuse
from tests.servers.server import ModelServer, Reply

ANSWERS = {
    line["query"]: line["expected"]
    for line in map(json.loads, QUESTIONS.read_text("utf-8").splitlines())
}


def know(user: str) -> str:
    """Answers as expected, some in words of its own."""
    asked = json.loads(user)
    assert asked["today"] == "2026-03-18"
    triples = [
        {
            "metadata_field_name": each["name"],
            "metadata_field_value": each.get("value"),
            "comparison_operator": each["comparison_operator"],
        }
        for each in ANSWERS[asked["query"]]
    ]
    answer = json.dumps({"metadata_map": triples}, ensure_ascii=False)
    return f"Here:\n```json\n{answer}\n```" if len(triples) > 1 else answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with OpenAIChatServer(know).running() as server:
        monkeypatch.setenv("WINNOW_OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("WINNOW_CHAT_PROVIDER", "openai_compatible")
        monkeypatch.setenv("WINNOW_CHAT_MODEL", "small")
        yield server


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["eval-filter", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


@pytest.mark.usefixtures("server")
def test_a_model_that_knows_every_answer_misses_nothing() -> None:
    code, printed = run("--json")
    report = json.loads(printed)
    assert code == 0
    assert report["model"] == "openai_compatible:small"
    assert report["questions"] == len(ANSWERS)
    assert (report["exact"], report["precision"], report["recall"]) == (1.0, 1.0, 1.0)
    assert (report["left_alone"], report["failures"], report["dropped"]) == (1.0, 0, 0)
    assert report["misses"] == []
    assert report["languages"].keys() == {"en", "zh"}
    assert sum(each["questions"] for each in report["shapes"].values()) == len(ANSWERS)


def test_wrong_late_and_missing_answers_are_told(server: ModelServer) -> None:
    server.script = [
        Reply(write_completion('{"metadata_map": []}')),
        Reply(write_completion("I can't help with that.")),
        refuse(500, "out of order"),
    ]
    code, printed = run("--json")
    report = json.loads(printed)
    assert code == 1
    assert [miss["id"] for miss in report["misses"]] == ["q01", "q02", "q03"]
    assert report["failures"] == 2
    assert report["misses"][0]["found"] == []
    assert report["misses"][0]["failure"] is None
    assert "no conditions in JSON" in report["misses"][1]["failure"]
    assert "answered 500" in report["misses"][2]["failure"]


def test_people_get_a_table_and_the_misses(server: ModelServer) -> None:
    server.script = [Reply(write_completion('{"metadata_map": []}'))]
    code, printed = run()
    assert code == 0
    assert "openai_compatible:small" in printed
    assert "relative date" in printed
    assert "q01: Show me onboarding documents" in printed
    assert "found nothing" in printed


def test_own_questions_are_asked(server: ModelServer, tmp_path: Any) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_text(QUESTIONS.read_text("utf-8").splitlines()[0], "utf-8")
    code, printed = run("--json", str(file))
    assert (code, json.loads(printed)["questions"]) == (0, 1)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "WINNOW_CHAT_PROVIDER and WINNOW_CHAT_MODEL"),
        ({"WINNOW_CHAT_MODEL": "m"}, "WINNOW_CHAT_PROVIDER"),
        ({"WINNOW_CHAT_PROVIDER": "elsewhere", "WINNOW_CHAT_MODEL": "m"}, "WINNOW_CHAT_PROVIDER"),
    ],
)
def test_a_model_must_be_configured(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], words: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=words):
        run()
