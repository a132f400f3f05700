"""Whether the parts answer: cheap by default; both stores and the work that waits when asked."""

from http import HTTPStatus
from typing import Any

from fastapi import Response
from sqlalchemy import literal, select

from functions.retrieve.parts import Parts
from shared.errors import WinnowError
from shared.postgres import outbox
from shared.postgres.engine import read

LONGEST_WAIT_SECONDS = 900.0
"""What waits longer is no busy hour: nobody ingests, or a model has been silent all the while."""


def check_health(parts: Parts, deep: bool, response: Response) -> dict[str, Any]:
    """Returns {"status"}; deep also asks PostgreSQL and OpenSearch, and is 503 if one is silent.

    Changes that have waited for too long to be ingested leave the status at "degraded".
    """
    if not deep:
        return {"status": "ok"}
    stores = {"postgres": _ask_postgres, "opensearch": _ask_opensearch}
    answers = {name: _try(ask, parts) for name, ask in stores.items()}
    if any(answer != "ok" for answer in answers.values()):
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
        return {"status": "unavailable", **answers}
    with read(parts.engine) as connection:
        oldest = outbox.measure_oldest(connection)
    status = "ok" if oldest <= LONGEST_WAIT_SECONDS else "degraded"
    return {"status": status, **answers, "oldest_work_seconds": round(oldest)}


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
