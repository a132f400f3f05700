"""One change, idempotent, in any order, any number of times: the order of the steps stands here.

take → parse and cut → embed → persist → index → flip → finish. PostgreSQL decides what wins. What
is many goes a thousand chunks at a time, so that a document's size bounds no step but parsing.
A crash anywhere leaves the outbox row; the next delivery goes on from the step that was reached.
"""

import random
from datetime import timedelta
from functools import partial
from itertools import batched

from functions.ingest.embed import embed
from functions.ingest.parts import Parts
from functions.ingest.passages import name_chunks, read_content
from functions.ingest.persist import New, Persisted, find_new, persist, store
from functions.ingest.publish import publish, remove
from functions.ingest.together import Work, run_together
from shared.errors import (
    ConfigurationError,
    Conflict,
    ContentMissing,
    DocumentRefused,
    Unavailable,
)
from shared.model import Action, Change, Dataset, Document, IndexingStatus
from shared.ports import Embedder
from shared.postgres import outbox
from shared.postgres.chunks import forget_unused
from shared.postgres.datasets import read_owner
from shared.postgres.documents import (
    fail_document,
    find_document,
    retry_document,
    set_progress,
)
from shared.postgres.engine import read, transaction
from shared.postgres.outbox import Taken

LEASE = timedelta(minutes=5)
"""How long a worker may be at one document before another may take it: a Lambda's time limit."""

RETRY_DELAY = timedelta(seconds=5)
"""How soon work that met a silent store or model may be taken again; it is never given up."""

AT_ONCE = 1_000
"""Chunks that are embedded and stored at once. Of a document with more, those that are done wait in
PostgreSQL, in no version yet: what comes after them needs neither memory for them nor, where this
worker dies, to embed them again."""

MOST_ATTEMPTS = 4
"""How often a worker may die over one document before that is the document's fault.

Fewer than the queue delivers a message, so that the reason stands on the document in time.
"""


def ingest(change: Change, parts: Parts) -> None:
    """Does the work that a document has waiting, if any, alone; raises as `work_on` does."""
    [error] = run_together([work_on(change, parts)])
    if error is not None:
        raise error


def work_on(change: Change, parts: Parts, *, is_first: bool = False) -> Work[None]:
    """Does the work that a document has waiting, if any.

    Args:
        change: which document.
        parts: the clients.
        is_first: the message comes for the first time since it was sent, or came back out of the
            dead letters: a document that was refused is then tried again.

    Raises:
        DocumentRefused: the document can't be used; its reason stands on it.
        Unavailable: a part does not answer; the work waits for the next delivery.
        ConfigurationError: an index has the name of an alias of ours, or the engine is none that
            can be used; the work waits as well.
    """
    with transaction(parts.engine) as connection:
        taken = outbox.take(connection, change.tenant_id, change.document_id, LEASE)
        document = find_document(connection, change.tenant_id, change.document_id)
        if document is None:
            return
        dataset = read_owner(connection, document)
    if taken is None:
        if not _is_refused(change, document):
            return
        if not is_first or not _retry(change, parts):
            # Its message fails again: so it ends in the dead-letter queue.
            raise DocumentRefused(document.error_code or "internal", document.error or "")
        yield from work_on(change, parts)
        return
    try:
        done = yield from _work(taken, dataset, document, parts)
    except DocumentRefused as refusal:
        with transaction(parts.engine) as connection:
            is_newest = fail_document(connection, document, refusal.code, str(refusal))
            if is_newest:
                forget_unused(connection, document.id)
            outbox.finish(connection, taken)
        if is_newest:  # else what was wrong, maybe that its bytes are gone, went with its version
            raise
        return
    except (Unavailable, ConfigurationError) as error:  # neither is the document's fault
        with transaction(parts.engine) as connection:
            # Give or take a half: what failed together does not come back together.
            delay = RETRY_DELAY * random.uniform(0.5, 1.5)  # noqa: S311  no secret
            outbox.release(connection, taken, str(error), delay)
        raise
    if done:
        with transaction(parts.engine) as connection:
            outbox.finish(connection, taken)


def _work(taken: Taken, dataset: Dataset, document: Document, parts: Parts) -> Work[bool]:
    action = taken.change.action
    if action is Action.DELETE:
        return (yield from remove(parts.engine, parts.index, parts.content, dataset, document))
    if taken.attempts > MOST_ATTEMPTS:
        raise DocumentRefused("internal", f"given up after {MOST_ATTEMPTS} attempts")
    if action is Action.PROCESS:
        stored = _process(taken, dataset, document, parts)
        if stored is None:
            return False
        if stored.is_settled:
            return True
        document, members = stored.document, stored.members
        return (yield from publish(parts.engine, parts.index, dataset, document, members))
    return (yield from publish(parts.engine, parts.index, dataset, document))


def _process(taken: Taken, dataset: Dataset, document: Document, parts: Parts) -> Persisted | None:
    _show(parts, document, IndexingStatus.PARSING)
    content = read_content(document, dataset, partial(_load, document, parts), parts.reader)
    _show(parts, document, IndexingStatus.SPLITTING)
    ids = name_chunks(document, content.passages)
    places = find_new(parts.engine, document, ids)
    embedder = _find_embedder(dataset, parts) if places else None
    new: New = []
    for batch in batched(places, AT_ONCE, strict=False):
        if new and not store(parts.engine, document, new):
            return None
        passages = [content.passages[place] for place in batch]
        vectors = embed(dataset.space, passages, embedder)
        new = list(zip((ids[place] for place in batch), passages, vectors, strict=True))
    return persist(parts.engine, taken, dataset, document, content, ids, new)


def _load(document: Document, parts: Parts) -> bytes:
    try:
        return parts.content.get(document.content_key or "")
    except ContentMissing as error:
        raise DocumentRefused("internal", "its content is not in the content store") from error


def _find_embedder(dataset: Dataset, parts: Parts) -> Embedder | None:
    try:
        return parts.embedder_for(dataset.space)
    except ConfigurationError as error:
        raise DocumentRefused("embedding", str(error)) from error


def _show(parts: Parts, document: Document, status: IndexingStatus) -> None:
    with read(parts.engine) as connection:
        set_progress(connection, document, status)


def _is_refused(change: Change, document: Document) -> bool:
    refused = document.indexing_status is IndexingStatus.ERROR
    return refused and document.version == change.version


def _retry(change: Change, parts: Parts) -> bool:
    try:
        with transaction(parts.engine) as connection:
            _, again = retry_document(connection, change.tenant_id, change.document_id)
    except Conflict:  # nothing is kept that could be tried
        return False
    return again is not None
