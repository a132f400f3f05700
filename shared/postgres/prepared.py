"""Statements that every query sends, parsed and planned once a connection.

A statement with the execution option `prepared` is kept under a name at the server. That saves the
half of its time that the driver spends on reading the text and the server on planning it.
"""

from functools import lru_cache
from typing import Any

from pg8000.converters import make_params
from sqlalchemy import Engine, event

OPTION = {"prepared": True}
MOST_KEPT = 64
"""Statements that a connection keeps; each form of filter makes some of its own."""

_KEPT = "_winnow_prepared"


def keep_prepared(engine: Engine) -> None:
    """Makes an engine keep the statements that are marked."""
    event.listen(engine, "do_execute", _execute)


def _execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool | None:
    """Runs a marked statement in the cursor's place; None leaves it to the cursor."""
    connection = cursor._c
    marked = context is not None and context.execution_options.get("prepared")
    if not marked or not connection.autocommit:
        return None
    kept = vars(connection).setdefault(_KEPT, {})
    if statement not in kept:
        kept[statement] = connection.prepare_statement(_number_places(statement), ())
    # Taken out while it runs: one that fails, after a migration maybe, is made anew next time.
    prepared = name, columns, inputs = kept.pop(statement)
    sent = make_params(connection.py_types, parameters)
    cursor._context = connection.execute_named(name, sent, columns, inputs, statement)
    cursor._row_iter = iter(cursor._context.rows or ())
    kept[statement] = prepared
    if len(kept) > MOST_KEPT:
        oldest, _, _ = kept.pop(next(iter(kept)))
        connection.close_prepared_statement(oldest)
    return True


@lru_cache(maxsize=10 * MOST_KEPT)
def _number_places(statement: str) -> str:
    """Returns the statement with PostgreSQL's own places, $1, $2 …, for the driver's %s."""
    parts = statement.split("%s")
    places = (f"${n}{part}" for n, part in enumerate(parts[1:], 1))
    return parts[0] + "".join(places)
