"""Lambda entry and composition root of manage: settings → clients → app."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from functions.manage.parts import Parts
from functions.manage.routers import make_routers
from shared.clients import connect_database, find_bootstrap_key
from shared.content.open import open_content_store
from shared.errors import ConfigurationError
from shared.external.guard import split_hosts
from shared.http.app import make_app
from shared.http.gateway import answer_events
from shared.http.keys import guard
from shared.models.embedders import list_providers
from shared.models.rerankers import check_default
from shared.queue.sqs import SqsQueue
from shared.settings import Settings, read_settings


def build_parts(settings: Settings) -> Parts:
    """Builds the clients; no connection is made yet."""
    if settings.queue_url is None:
        raise ConfigurationError("WINNOW_QUEUE_URL is not set: nobody would hear of changes")
    return Parts(
        engine=connect_database(settings),
        content=open_content_store(settings.content_url, timeout=settings.content_timeout_seconds),
        queue=SqsQueue(settings.queue_url, timeout=settings.queue_timeout_seconds),
        max_bytes=settings.document_max_bytes,
        wait_seconds=settings.wait_seconds,
        external_hosts=split_hosts(settings.external_allow_hosts),
        providers=list_providers(settings),
        check_reranker=partial(check_default, settings),
    )


_settings = read_settings()
_parts = build_parts(_settings)
_caller = guard(find_bootstrap_key(_settings))
_app = make_app(
    *make_routers(_parts, _caller),
    most_bytes=_settings.request_max_bytes,
)
_http = answer_events(_app)


def lambda_handler(event: dict[str, Any], context: Any) -> Mapping[str, Any]:
    """Answers an API Gateway event."""
    return _http(event, context)
