"""`winnow eval-filter`: how well the configured chat model finds filters in questions."""

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from local.bars import watching
from local.evaluation.filter_scores import Attempt, score
from local.evaluation.questions import Question, read_questions
from local.models import read_model_settings
from local.tables import make_table
from local.terminal import clean, open_console, write_json
from shared.errors import ChatModelFailed, ConfigurationError
from shared.metadata.automatic import extract_conditions
from shared.metadata.chat_answer import AnswerUnreadable
from shared.metadata.chat_prompt import write_prompt
from shared.models.chat_models import make_chat_model
from shared.ports import ChatModel
from shared.settings import ModelSettings

FIGURES = ("questions", "exact", "precision", "recall", "left_alone", "failures", "dropped")


def evaluate_filter(file: Path, *, as_json: bool) -> bool:
    """Asks every question, shows how well they were read, and returns whether all were answered.

    Args:
        file: of the questions.
        as_json: prints the report as JSON.
    """
    settings = _read_settings()
    questions = read_questions(file)
    chat = make_chat_model(None, None, settings)
    task = f"Asking {settings.chat_model}"
    attempts: list[Attempt] = []
    with watching() as watcher:
        watcher.begin(task, len(questions), "questions")
        for question in questions:
            attempts.append(_try(chat, question, settings.chat_timeout_seconds))
            watcher.advance(task, 1)
        watcher.finish(task)
    report = _describe(f"{settings.chat_provider}:{settings.chat_model}", attempts)
    if as_json:
        write_json(report)
    else:
        _show(report)
    return all(each.failure is None for each in attempts)


def _read_settings() -> ModelSettings:
    settings = read_model_settings()
    if settings.chat_provider is None or settings.chat_model is None:
        raise ConfigurationError(
            "WINNOW_CHAT_PROVIDER and WINNOW_CHAT_MODEL say which model is asked; set both"
        )
    return settings


def _try(chat: ChatModel, question: Question, timeout: float) -> Attempt:
    began = time.perf_counter()
    try:
        prompt = write_prompt(question.query, question.fields, question.today)
        extracted = extract_conditions(chat.complete(*prompt, timeout), question.fields)
    except (ChatModelFailed, AnswerUnreadable) as error:
        seconds = time.perf_counter() - began
        return Attempt(question=question, failure=str(error), seconds=seconds)
    return Attempt(
        question=question,
        found=extracted.conditions,
        dropped=len(extracted.dropped),
        seconds=time.perf_counter() - began,
    )


def _describe(model: str, attempts: Sequence[Attempt]) -> dict[str, Any]:
    return {
        "model": model,
        **score(attempts),
        "p50_ms": round(statistics.median(each.seconds for each in attempts) * 1000, 1),
        "languages": _score_by(attempts, lambda attempt: attempt.question.language),
        "shapes": _score_by(attempts, lambda attempt: attempt.question.shape),
        "misses": [_describe_miss(each) for each in attempts if not each.is_exact],
    }


def _score_by(
    attempts: Sequence[Attempt], key: Callable[[Attempt], str]
) -> dict[str, dict[str, Any]]:
    names = dict.fromkeys(map(key, attempts))
    return {name: score([each for each in attempts if key(each) == name]) for name in names}


def _describe_miss(attempt: Attempt) -> dict[str, Any]:
    return {
        "id": attempt.question.id,
        "query": attempt.question.query,
        "expected": attempt.question.expected,
        "found": attempt.found,
        "failure": attempt.failure,
    }


def _show(report: Mapping[str, Any]) -> None:
    console = open_console(sys.stdout)
    console.print(f"{report['model']}: {report['p50_ms']:.0f} ms a question (median)")
    console.print()
    table = make_table("questions of", *FIGURES, figures=list(FIGURES))
    groups = {"all": report, **report["languages"], **report["shapes"]}
    for name, figures in groups.items():
        table.add_row(clean(name), *(_figure(figures[each]) for each in FIGURES))
    console.print(table)
    for miss in report["misses"]:
        console.print()
        console.print(clean(f"{miss['id']}: {miss['query']}"))
        console.print(clean(f"  expected {_write(miss['expected'])}"))
        console.print(clean(f"  found {miss['failure'] or _write(miss['found'])}"))


def _write(conditions: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(list(conditions), ensure_ascii=False) if conditions else "nothing"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)
