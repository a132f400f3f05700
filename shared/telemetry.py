"""Logs and metrics, as AWS Lambda Powertools writes them; they carry no query text."""

import traceback
from collections.abc import Iterator
from typing import Any

from aws_lambda_powertools import Logger, Metrics

from shared.postgres.states import find_state, is_of_database

logger = Logger(service="winnow", use_rfc3339=True)
metrics = Metrics(namespace="Winnow", service="winnow")


def log_failure(message: str, error: BaseException, **fields: Any) -> None:
    """Logs an error with its stack.

    Of an error of the database only the class and the SQLSTATE: its own words quote statements
    and values.
    """
    chain = list(_list_chain(error))
    told = {"error": type(error).__qualname__, "stack": "\n".join(map(_describe, chain)), **fields}
    states = [state for each in chain if (state := find_state(each)) is not None]
    if states:
        told["sqlstate"] = states[0]
    logger.error(message, extra=told, stacklevel=3)  # where this was called


def _list_chain(error: BaseException) -> Iterator[BaseException]:
    """Yields what led to an error, the first cause first, as Python's own report does."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from _list_chain(before)
    yield error


def _describe(error: BaseException) -> str:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    words = "" if is_of_database(error) or not str(error) else f": {error}"
    return "".join(traceback.format_tb(error.__traceback__)) + kind + words
