"""Automatic mode: a chat model finds the filter in the query, or it is said why there is none."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from functions.retrieve.outside import ask_model, share_deadline
from functions.retrieve.parts import Parts
from functions.retrieve.query import Applied, AutomaticFilter, Query
from shared.errors import ChatModelFailed, InvalidRequest
from shared.metadata.automatic import Extracted, extract_conditions, gather_types
from shared.metadata.chat_answer import AnswerUnreadable
from shared.metadata.chat_prompt import write_prompt
from shared.metadata.parse import parse_filter
from shared.postgres.engine import read
from shared.postgres.fields import list_fields

KEPT_SECONDS = 1.0
"""Of the deadline that the search keeps, or half of what is left where that is less."""


def find_filter(query: Query, asked: AutomaticFilter, parts: Parts, deadline: float) -> Applied:
    """Asks the chat model for the query's conditions, and checks what it answers.

    Raises:
        InvalidRequest: neither the query nor the settings name a model.
        ChatModelFailed: there is no filter that can be used, and the query wants an error then.
    """
    with read(parts.engine, max(KEPT_SECONDS, deadline - time.monotonic())) as connection:
        found = list_fields(connection, [dataset.id for dataset in query.own])
    fields = gather_types(found)
    system, user = write_prompt(query.text, fields, datetime.now(UTC).date())
    timeout = share_deadline(deadline, parts.chat_timeout, KEPT_SECONDS)

    def ask(timeout: float) -> str:
        return parts.chat_for(asked.provider, asked.model).complete(system, user, timeout)

    try:
        answer = ask_model(ask, parts.outside, timeout, ChatModelFailed, "the chat model")
        extracted = extract_conditions(answer, fields)
    except (ChatModelFailed, AnswerUnreadable) as error:
        return _fail(asked, str(error))
    return _apply(asked, extracted)


def _apply(asked: AutomaticFilter, extracted: Extracted) -> Applied:
    if not extracted.conditions:
        reason = "can be used" if extracted.dropped else "is in the query"
        return _fail(asked, f"no condition {reason}", extracted.dropped)
    try:
        tree = parse_filter(asked.joiner, extracted.conditions, pointer="")
    except InvalidRequest as refusal:
        return _fail(asked, refusal.problems[0].detail, extracted.dropped)
    return Applied(
        tree=tree,
        conditions=extracted.conditions,
        joiner=asked.joiner,
        dropped=extracted.dropped,
    )


def _fail(asked: AutomaticFilter, failure: str, dropped: Sequence[tuple[Any, str]] = ()) -> Applied:
    if asked.on_failure == "error":
        raise ChatModelFailed(f"no metadata filter was found: {failure}")
    return Applied(
        joiner=asked.joiner, dropped=dropped, failure=failure, empty=asked.on_failure == "empty"
    )
