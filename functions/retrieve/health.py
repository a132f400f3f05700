"""Whether the parts answer: cheap by default, both stores when asked."""

from typing import Any

from fastapi import Response
from sqlalchemy import literal, select

from functions.retrieve.parts import Parts
from shared.errors import WinnowError
from shared.postgres.engine import read


def check_health(parts: Parts, deep: bool, response: Response) -> dict[str, Any]:
    """Returns {"status"}; deep also asks PostgreSQL and OpenSearch, and is 503 if one is silent."""
    if not deep:
        return {"status": "ok"}
    stores = {"postgres": _ask_postgres, "opensearch": _ask_opensearch}
    answers = {name: _try(ask, parts) for name, ask in stores.items()}
    healthy = all(answer == "ok" for answer in answers.values())
    response.status_code = 200 if healthy else 503
    return {"status": "ok" if healthy else "unavailable", **answers}


def _try(ask: Any, parts: Parts) -> str:
    try:
        ask(parts)
    except WinnowError as error:
        return str(error)
    return "ok"


def _ask_postgres(parts: Parts) -> None:
    with read(parts.engine) as connection:
        connection.execute(select(literal(1)))


def _ask_opensearch(parts: Parts) -> None:
    parts.searcher.search.ping(timeout=2.0)
