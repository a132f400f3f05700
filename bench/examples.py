"""The examples as a dataset, and events that ask it."""

import json
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from functions.ingest.formats.options import Options
from functions.ingest.parts import Parts
from functions.ingest.pipeline import ingest
from functions.ingest.reader import FileReader
from functions.migrate.run import upgrade
from shared.clients import connect_database, connect_search
from shared.content.folder import FolderContentStore
from shared.model import Chunking, Dataset, EmbeddingSpace, IndexingTechnique
from shared.opensearch.index import OpenSearchChunkIndex
from shared.postgres.datasets import create_dataset
from shared.postgres.documents import DocumentWrite
from shared.postgres.engine import transaction
from shared.postgres.intake import accept_document
from shared.settings import DEFAULT_TENANT, Settings
from tests.artifacts import ROOT
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.objects import FakeObjects

EXAMPLES = ROOT / "examples"
KEY = "bench-" + "k" * 40
QUERIES = {
    "English": "How many days does a customer have to return an annual plan?",
    "Chinese": "客户退订年度套餐有几天时间？",
}


@contextmanager
def ingesting(settings: Settings) -> Iterator["Examples"]:
    """Brings the schema up to date, and puts in what is asked for."""
    engine = connect_database(settings)
    try:
        upgrade(engine)
        with tempfile.TemporaryDirectory() as folder:
            yield Examples(
                Parts(
                    engine=engine,
                    index=OpenSearchChunkIndex(connect_search(settings), settings.index_prefix),
                    content=FolderContentStore(Path(folder)),
                    embedder_for=FakeEmbedder,
                    objects=FakeObjects(),
                    reader=FileReader(Options()),
                    max_bytes=settings.document_max_bytes,
                )
            )
    finally:
        engine.dispose()


class Examples:
    """Puts examples in, through the ingest pipeline."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def put(self, space: EmbeddingSpace) -> Dataset:
        """Returns a new dataset of all examples, with vectors as the doubles of embedders make."""
        with transaction(self._parts.engine) as connection:
            dataset = create_dataset(
                connection,
                tenant_id=DEFAULT_TENANT,
                name=f"examples {uuid.uuid4()}",
                description="",
                indexing_technique=IndexingTechnique.HIGH_QUALITY,
                space=space,
                retrieval={},
                chunking=Chunking(),
            )
        for path in sorted(EXAMPLES.glob("*/*.*")):
            if path.suffix != ".json":
                self._put_document(dataset, path)
        return dataset

    def _put_document(self, dataset: Dataset, path: Path) -> None:
        write = DocumentWrite(
            id=str(uuid.uuid4()),
            tenant_id=dataset.tenant_id,
            dataset_id=dataset.id,
            external_id=None,
            source=None,
            name=path.name,
            uploader="bench",
            metadata={},
            content_key=str(uuid.uuid4()),
            content_hash=path.name,
            media_type="text/markdown",
        )
        _, change = accept_document(
            self._parts.engine, self._parts.content, write, path.read_bytes()
        )
        assert change is not None
        ingest(change, self._parts)


def make_event(query: str, dataset: Dataset) -> dict[str, Any]:
    """Returns a hybrid query as API Gateway sends it; a slow machine gets its time."""
    event = json.loads((ROOT / "events/retrieve/text.json").read_text(encoding="utf-8"))
    event["headers"]["authorization"] = f"Bearer {KEY}"
    event["body"] = json.dumps({"query": query, "dataset_ids": [dataset.id], "deadline_ms": 20_000})
    return dict(event)


def check_answer(answer: Any) -> None:
    """Fails unless both channels answered, and found something."""
    assert answer["statusCode"] == 200, answer
    body = json.loads(answer["body"])
    assert body["records"], body
    assert not body.get("degraded"), body
