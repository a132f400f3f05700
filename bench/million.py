"""A million documents, each row what the product would have written, in minutes.

Most have metadata alone and are copied in, with `filter_values` computed by the product's own
function in as many processes as there are cores. Every few hundred comes one that has chunks and
goes through the ingest pipeline.
"""

import csv
import io
import json
import os
import random
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Index, func, select, text, update

from bench.world import UPLOADER, Sender
from functions.retrieve.contracts.native import RetrieveBody, to_query
from functions.retrieve.query import Query
from shared.metadata.filter_values import Builtins, filter_values
from shared.metadata.where import parse_where
from shared.model import CHUNKS_MEDIA_TYPE, Chunking, Dataset, IndexingStatus
from shared.postgres.engine import connect, transaction
from shared.postgres.fields import observe
from shared.postgres.intake import name_document
from shared.postgres.tables import datasets, document_seqs, documents, index_versions
from shared.settings import DEFAULT_TENANT

DEPARTMENTS = [
    "legal", "finance", "sales", "support", "security", "research", "facilities", "people",
    "marketing", "operations", "procurement", "platform",
]  # fmt: skip
COUNTRIES = [f"{first}{second}" for first in "ABCDEFGH" for second in "KLMNPRSTUZ"]
TAGS = [f"topic-{number}" for number in range(200)]
WORDS = ["quarterly", "annual", "draft", "internal", "customer", "supplier", "refund", "policy"]
FIRST = datetime(2020, 1, 1, tzinfo=UTC)

WITH_CHUNKS_EVERY = 499
CHUNKS = 5
BATCH = 10_000


def describe(number: int) -> dict[str, Any]:
    """Returns a document's metadata: the same for the same number, and half of everything.

    `reference`, `account`, one of the `tags` and `published` are its own. `published` rises with
    the numbers; all else is drawn.
    """
    rng = random.Random(number)
    kind = "report" if rng.random() < 0.5 else "memo"
    fields: dict[str, Any] = {
        "reference": f"REF-{number:07}",
        "account": str(10_000_000 + number),
        "title": f"{' '.join(rng.sample(WORDS, 3))} {kind} {rng.randint(1, 400)}",
        "author": rng.choice([f"author {rng.randint(1, 5_000)}", "", None]),
        "language": "en" if rng.random() < 0.5 else rng.choice(["zh", "de", "fr", "es"]),
        "department": rng.choice(DEPARTMENTS),
        "country": rng.choice(COUNTRIES),
        "pages": rng.randint(1, 1_000),
        "public": rng.random() < 0.5,
        "tags": [*rng.sample(TAGS, rng.randint(1, 3)), f"case-{number}"],
        "published": (FIRST + timedelta(minutes=number)).isoformat(),
    }
    if rng.random() < 0.5:
        fields["reviewed"] = int(FIRST.timestamp()) + rng.randrange(10**8)
    return fields


def selective(count: int) -> Mapping[str, str]:
    """Returns filters that one document passes, by what they compare; the last one twenty."""
    fields = describe(count // 2 + 1)
    drawn = random.Random(5).sample(range(count), 20)
    references = ", ".join(describe(number)["reference"] for number in drawn)
    return {
        "a text": f'reference is "{fields["reference"]}"',
        "a number": f"account = {fields['account']}",
        "a number, stored as text": f'account is "{fields["account"]}"',
        "an element of a list": f'tags is "{fields["tags"][-1]}"',
        "a time": f'published is "{fields["published"]}"',
        "twenty texts": f"reference in [{references}]",
    }


def broad(count: int) -> Mapping[str, str]:
    """Returns filters that half of the documents pass, but for the last one."""
    middle = (FIRST + timedelta(minutes=count // 2 - 1)).isoformat()
    return {
        "`is`, a text": "language is en",
        "`is`, a boolean": "public is true",
        "`is not`": "language is not en",
        "`>`": "pages > 500",
        "`after`": f'published after "{middle}"',
        "`not empty`": "reviewed not empty",
        "`empty`": "reviewed empty",
        "`contains`": "title contains report",
        "`in`, 6 texts": f"department in [{', '.join(DEPARTMENTS[:6])}]",
        "`in`, 40 texts": f"country in [{', '.join(COUNTRIES[:40])}]",
        "`not in`, 6 texts": f"department not in [{', '.join(DEPARTMENTS[:6])}]",
        "four with `and`": (
            "language is en and pages > 100 and public is true and reviewed not empty"
        ),
    }


def make_query(made: Sequence[Dataset], where: str) -> Query:
    """Returns the query that asks all the datasets with a filter."""
    filtering = {"mode": "manual", **parse_where(where)}
    body = {"query": "any", "dataset_ids": ["any"], "search_method": "full_text_search"}
    asked = RetrieveBody.model_validate(body | {"metadata_filtering": filtering})
    return to_query(asked, DEFAULT_TENANT, made)


def build(engine: Engine, made: Sequence[Dataset], count: int, sender: Sender) -> None:
    """Fills datasets with so many documents, dealt out in turn."""
    indices = sorted(documents.indexes, key=lambda index: str(index.name))
    with transaction(engine) as connection:
        for index in indices:  # made once at the end, which is quicker
            index.drop(connection)
    url = engine.url.render_as_string(hide_password=False)
    with ProcessPoolExecutor(os.cpu_count(), initializer=_connect, initargs=(url,)) as pool:
        batches = []
        for first in range(0, count, BATCH):
            numbers = range(first, min(first + BATCH, count))
            alone = [number for number in numbers if number % WITH_CHUNKS_EVERY]
            seqs = _reserve(engine, len(alone))
            batches.append(pool.submit(copy, made, alone, seqs))
            for number in numbers:
                if number % WITH_CHUNKS_EVERY == 0:
                    dataset = made[number % len(made)]
                    sender.send(dataset, f"{number}", _name(number), describe(number), CHUNKS)
        for batch in batches:
            batch.result()
    with ThreadPoolExecutor(2) as threads:
        for made_one in [threads.submit(_create, engine, index) for index in indices]:
            made_one.result()
    with engine.connect() as connection:
        connection.execute(text("VACUUM ANALYZE"))


def _create(engine: Engine, index: Index) -> None:
    with transaction(engine) as connection:
        connection.execute(text("SET LOCAL maintenance_work_mem = '512MB'"))
        index.create(connection)


def _name(number: int) -> str:
    return f"document {number}"


def _reserve(engine: Engine, count: int) -> range:
    """Draws numbers for bitmaps, as so many single documents would have."""
    with transaction(engine) as connection:
        first = connection.execute(select(document_seqs.next_value())).scalar_one()
        connection.execute(select(func.setval(document_seqs.name, first + count - 1)))
    return range(first, first + count)


_engine: Engine


def _connect(url: str) -> None:
    global _engine  # noqa: PLW0603  one a process
    _engine = connect(url, timeout=600)


def copy(made: Sequence[Dataset], numbers: Sequence[int], seqs: Sequence[int]) -> None:
    """Writes documents without chunks, and the counts that go with them."""
    rows: dict[str, list[dict[str, Any]]] = {dataset.id: [] for dataset in made}
    with transaction(_engine) as connection:
        version = connection.execute(select(index_versions.next_value())).scalar_one()
        for number, seq in zip(numbers, seqs, strict=True):
            dataset = made[number % len(made)]
            rows[dataset.id].append(_row(dataset, number, seq, version))
        _copy(connection, [row for of_one in rows.values() for row in of_one])
        for dataset_id, of_one in rows.items():
            counted = {"searchable_count": datasets.c.searchable_count + len(of_one)}
            connection.execute(update(datasets).where(datasets.c.id == dataset_id).values(counted))
            observe(connection, dataset_id, (({}, row["doc_metadata"]) for row in of_one))


def _row(dataset: Dataset, number: int, seq: int, version: int) -> dict[str, Any]:
    metadata, now = describe(number), datetime.now(UTC)
    builtins = Builtins(
        document_name=_name(number),
        uploader=UPLOADER,
        upload_date=now,
        last_update_date=now,
        source=None,
    )
    return {
        "id": name_document(dataset.id, f"{number}"),
        "seq": seq,
        "tenant_id": dataset.tenant_id,
        "dataset_id": dataset.id,
        "external_id": f"{number}",
        "name": _name(number),
        "uploader": UPLOADER,
        "version": 1,
        "live_version": 1,
        "index_version": version,
        "content_key": f"bench/{uuid.uuid4()}",
        "media_type": CHUNKS_MEDIA_TYPE,
        "content_hash": f"{number}",
        "chunking": asdict(Chunking()),
        "indexing_status": IndexingStatus.COMPLETED.value,
        "doc_metadata": metadata,
        "filter_values": filter_values(metadata, builtins),
        "created_at": now.isoformat(),
        "updated_at": now.isoformat(),
        "completed_at": now.isoformat(),
    }


def _copy(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    written = io.StringIO()
    writer = csv.writer(written)
    for row in rows:
        writer.writerow(json.dumps(v) if isinstance(v, dict) else v for v in row.values())
    driver: Any = connection.connection.dbapi_connection
    columns = ", ".join(rows[0])
    driver.cursor().execute(
        f"COPY documents ({columns}) FROM STDIN WITH (FORMAT csv)",
        stream=io.BytesIO(written.getvalue().encode()),
    )
