"""Routers → one app: the same under Mangum and under uvicorn."""

from fastapi import APIRouter

from shared.http import problems
from shared.http.api import Api
from shared.http.dialects import list_dialects
from shared.http.edge import Edge


def make_app(*routers: APIRouter, most_bytes: int) -> Api:
    """Returns an app of these routers, with bounded bodies and errors as problems."""
    app = Api(
        title="Winnow",
        summary="Hybrid retrieval: exact filters, scores that mean something, nothing lost.",
        version="1",
        redirect_slashes=False,
        strict_content_type=False,
    )
    for router in routers:
        app.include_router(router)
    app.state.dialects = list_dialects(routers)
    problems.install(app)
    app.add_middleware(Edge, most_bytes=most_bytes)
    return app
