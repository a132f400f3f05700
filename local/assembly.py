"""The functions as one app and one loop, built as their handlers build them.

Importing this module reads the settings: the environment must be complete.
"""

from collections.abc import Sequence
from functools import partial

from aws_lambda_powertools.utilities.typing import LambdaContext
from fastapi import FastAPI

from functions.ingest import handler as ingest
from functions.ingest.pipeline import RETRY_DELAY
from functions.manage.parts import Parts
from functions.manage.routers import make_routers
from functions.migrate.run import upgrade
from functions.reconcile.parts import Parts as ReconcileParts
from functions.reconcile.pipeline import reconcile
from functions.retrieve import handler as retrieve
from functions.retrieve.app import make_router
from local.loop import IngestLoop
from local.rounds import Rounds
from local.uploads import Uploads
from shared.clients import connect_database, connect_search, find_bootstrap_key
from shared.content.folder import FolderContentStore
from shared.content.open import open_content_store
from shared.external.guard import split_hosts
from shared.http.app import make_app
from shared.http.keys import guard
from shared.model import Change
from shared.models.embedders import list_providers
from shared.models.rerankers import check_default
from shared.opensearch.builder import OpenSearchIndexBuilder
from shared.postgres import outbox
from shared.postgres.engine import read, transaction
from shared.queue.local import LocalQueue
from shared.settings import Settings


def assemble(settings: Settings, *, is_alone: bool) -> tuple[FastAPI, IngestLoop, Rounds]:
    """Migrates the database and returns the API, the loop that ingests, and the rounds.

    Args:
        settings: the process's settings.
        is_alone: nobody else works with this database, so that work which an earlier run left
            half done can be taken up at once.
    """
    queue = LocalQueue()
    manage = Parts(
        engine=connect_database(settings),
        content=open_content_store(settings.content_url, timeout=settings.content_timeout_seconds),
        queue=queue,
        max_bytes=settings.document_max_bytes,
        wait_seconds=settings.wait_seconds,
        external_hosts=split_hosts(settings.external_allow_hosts),
        providers=list_providers(settings),
        check_reranker=partial(check_default, settings),
    )
    upgrade(manage.engine)
    if is_alone:
        with transaction(manage.engine) as connection:
            outbox.release_all(connection)
    caller = guard(find_bootstrap_key(settings))
    app = make_app(
        *make_routers(manage, caller),
        make_router(retrieve.build_parts(settings), caller),
        most_bytes=settings.request_max_bytes,
    )
    if isinstance(manage.content, FolderContentStore):
        app.add_middleware(Uploads, store=manage.content)
    return app, _make_loop(queue), _make_rounds(settings, queue)


def _make_loop(queue: LocalQueue) -> IngestLoop:
    engine = ingest.build_parts().engine
    context = LambdaContext()

    def find(most: int, dropped: Sequence[str]) -> list[Change]:
        with read(engine) as connection:
            outbox.drop(connection, dropped, RETRY_DELAY)
            return outbox.find_available(connection, most)

    return IngestLoop(find, lambda event: ingest.lambda_handler(event, context), queue)


def _make_rounds(settings: Settings, queue: LocalQueue) -> Rounds:
    built = ingest.build_parts()
    builder = OpenSearchIndexBuilder(connect_search(settings), settings.index_prefix)
    parts = ReconcileParts(engine=built.engine, index=built.index, builder=builder, queue=queue)
    return Rounds(lambda has_time: reconcile(parts, has_time=has_time)[0])
