"""Lambda entry and composition root of retrieve: settings → clients → app."""

import gc
from collections.abc import Mapping
from typing import Any

from functions.retrieve.app import make_router
from functions.retrieve.channels import Searcher
from functions.retrieve.direct import answer_directly, is_direct
from functions.retrieve.parts import Parts
from functions.retrieve.pool import Pool
from shared.clients import connect_database, connect_search, find_bootstrap_key
from shared.external.client import ExternalClient
from shared.http.app import make_app
from shared.http.gateway import answer_events
from shared.http.keys import guard
from shared.models.chat_models import make_chat_model
from shared.models.embedders import make_embedder
from shared.models.rerankers import make_reranker
from shared.opensearch.search import OpenSearchChunkSearch
from shared.settings import Settings, read_settings


def build_parts(settings: Settings) -> Parts:
    """Builds the clients; no connection is made yet."""
    searcher = Searcher(
        search=OpenSearchChunkSearch(connect_search(settings), settings.index_prefix),
        embedder_for=lambda space: make_embedder(space, settings),
        pool=Pool(settings.retrieval_executors),
        depth=settings.retrieval_depth,
    )
    external = ExternalClient(settings.external_allow_hosts, settings.retrieval_executors)
    return Parts(
        engine=connect_database(settings),
        searcher=searcher,
        external=external,
        outside=Pool(settings.retrieval_executors),
        chat_for=lambda provider, model: make_chat_model(provider, model, settings),
        chat_timeout=settings.chat_timeout_seconds,
        reranker_for=lambda provider, model: make_reranker(provider, model, settings),
        reranker_timeout=settings.reranking_timeout_seconds,
        reranker_candidates=settings.reranking_candidates,
    )


_settings = read_settings()
_parts = build_parts(_settings)
_app = make_app(
    make_router(_parts, guard(find_bootstrap_key(_settings))),
    most_bytes=_settings.request_max_bytes,
)
_http = answer_events(_app)


# What is there by now stays as long as the process: the collector need not walk it at each query.
# It has hardly found any garbage yet, and a last look for some would cost a start 5 % of its time.
gc.freeze()


def lambda_handler(event: dict[str, Any], context: Any) -> Mapping[str, Any]:
    """Answers an API Gateway event, or {"tenant_id", "retrieve"} of an IAM-authorised invoke."""
    if is_direct(event):
        return answer_directly(event, _parts)
    return _http(event, context)
