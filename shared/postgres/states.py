"""SQLSTATE, PostgreSQL's code of an error: what it is, without the words that quote values."""

import pg8000
from sqlalchemy.exc import DBAPIError, StatementError

_READ_ONLY = "25006"
_PASSING = (
    _READ_ONLY,
    "08",  # the connection, or the pooler that it leads through
    "25P03",  # the transaction lay idle for too long
    "40001",  # transactions that can't be put in an order
    "40P01",  # a deadlock
    "53",  # no memory, disk or connection is left
    "55P03",  # a lock was not to be had in the time that the server allows
    "57014",  # the statement was cancelled: by hand, or by the server's time limit
    "57P",  # the server ends or starts
)


def is_of_database(error: BaseException) -> bool:
    """Tells whether an error's message is the database's or a statement's."""
    return isinstance(error, (StatementError, pg8000.Error))


def find_state(error: BaseException) -> str | None:
    """Returns the SQLSTATE of an error; None where it is not the server's."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(original, pg8000.Error) or not original.args:
        return None
    told = original.args[0]
    state = told.get("C") if isinstance(told, dict) else None
    return state if isinstance(state, str) else None


def is_passing(state: str | None) -> bool:
    """Tells whether the same may go well a moment later."""
    return state is not None and state.startswith(_PASSING)


def is_read_only(state: str | None) -> bool:
    """Tells whether the server takes no writes: it was the writer, or never will be."""
    return state == _READ_ONLY
