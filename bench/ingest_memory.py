"""How much memory the ingest process takes for one large text file.

    uv run python -m bench.ingest_memory [--megabytes 100] [--dimension 0] [--text words]
        [--home DIR]

A file of made-up words in paragraphs (`words`), the same with line ends of two characters (`crlf`),
or of Chinese (`chinese`) is kept as a document. Then a process of its own handles the event that
names it, as Lambda would, and says how much memory it had at its peak. With a dimension each chunk
has a vector, from a server on this machine; without one the dataset has none.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path

from sqlalchemy import func, select

from bench.world import Words, make_dataset, make_parts, running
from shared.model import NO_VECTORS, Change, EmbeddingSpace
from shared.postgres.documents import DocumentWrite, find_document
from shared.postgres.engine import read
from shared.postgres.intake import accept_document, name_document
from shared.postgres.tables import chunks
from shared.queue.messages import write_change
from shared.settings import DEFAULT_TENANT, Settings
from tests.servers.openai import OpenAIServer

TEXTS = ("words", "crlf", "chinese")


def main() -> None:
    """Measures one file, and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--dimension", type=int, default=0)
    parser.add_argument("--text", choices=TEXTS, default=TEXTS[0])
    parser.add_argument("--home", type=Path, default=None)
    parser.add_argument("--handle", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.handle:
        handle(json.load(sys.stdin))
        return
    with (
        OpenAIServer(asked.dimension).running() as model,
        running(asked.home, f"bench-{uuid.uuid4().hex[:8]}") as settings,
    ):
        os.environ |= {
            "WINNOW_DOCUMENT_MAX_BYTES": str(asked.megabytes * 2 * 10**6),
            "WINNOW_OPENAI_BASE_URL": f"{model.url}/v1",
            "WINNOW_OPENAI_API_KEY": "key",
        }
        measure(settings, make_text(asked.text, asked.megabytes * 10**6), asked.dimension)


def make_text(kind: str, size: int) -> bytes:
    """Returns a text of at least so many bytes."""
    if kind == "chinese":
        rng = random.Random(1)
        common = [chr(0x4E00 + rng.randrange(6_000)) for _ in range(3_000)]
        lines = ["".join(rng.choices(common, k=30)) + "。" for _ in range(2_000)]
        line_end = "\n"
    else:
        words = Words(seed=1)
        lines = [words.text(15).capitalize() + "." for _ in range(20_000)]
        line_end = "\r\n" if kind == "crlf" else "\n"
    rng, written, length = random.Random(2), [], 0
    while length < size:
        paragraph = " ".join(rng.choices(lines, k=rng.randint(2, 9))) + line_end * 2
        written.append(paragraph.encode())
        length += len(written[-1])
    return b"".join(written)


def measure(settings: Settings, data: bytes, dimension: int) -> None:
    """Keeps a document, has it ingested in a process of its own, and prints what that took."""
    parts = make_parts(settings)
    space = EmbeddingSpace("openai_compatible", "bench", dimension) if dimension else NO_VECTORS
    dataset = make_dataset(parts.engine, uuid.uuid4().hex, space)
    write = DocumentWrite(
        id=name_document(dataset.id, "large"),
        tenant_id=dataset.tenant_id,
        dataset_id=dataset.id,
        external_id="large",
        source=None,
        name="large.txt",
        uploader="bench",
        metadata={},
        content_key=f"bench/{uuid.uuid4()}",
        content_hash="large",
        media_type="text/plain",
    )
    _, change = accept_document(parts.engine, parts.content, write, data)
    if change is None:
        raise RuntimeError("the document is there already")
    size = len(data) / 10**6
    del data
    print(ingest_apart(change), end="")
    with read(parts.engine) as connection:
        document = find_document(connection, DEFAULT_TENANT, change.document_id)
        count = connection.scalar(
            select(func.count()).where(chunks.c.document_id == change.document_id)
        )
    status = document.indexing_status if document else None
    print(f"{size:.0f} MB of text, {count} chunks of {dimension} dimensions: {status}")


def ingest_apart(change: Change) -> str:
    """Returns what the process that ingests a document says of itself."""
    record = {
        "messageId": "1",
        "receiptHandle": "",
        "body": write_change(change),
        "attributes": {},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:local:000000000000:bench",
        "awsRegion": "local",
    }
    command = [sys.executable, "-m", "bench.ingest_memory", "--handle"]
    event = json.dumps({"Records": [record]})
    return subprocess.run(
        command, input=event, text=True, check=True, stdout=subprocess.PIPE
    ).stdout


def handle(event: object) -> None:
    """Handles an event as Lambda would, and prints seconds and the most memory there was."""
    from functions.ingest.handler import lambda_handler  # noqa: PLC0415, of this process alone

    begun, before = time.perf_counter(), read_peak()
    answer = lambda_handler(event, None)  # type: ignore[arg-type]
    seconds, peak = time.perf_counter() - begun, read_peak()
    print(f"{peak:.0f} MB at the peak, {before:.0f} before; {seconds:.0f} s; {answer}")


def read_peak() -> float:
    """Returns the most memory that this process ever had, in MB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    if found is None:
        raise RuntimeError("the system does not say how much memory a process has")
    return int(found[1]) * 1024 / 10**6


if __name__ == "__main__":
    main()
