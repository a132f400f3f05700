"""A judged collection on disk: docs.jsonl, queries.jsonl and qrels.tsv, each maybe gzipped."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.evaluation.judgements import Grades, read_judgements
from local.evaluation.trouble import CollectionUnusable
from shared.errors import InvalidRequest
from shared.http.bodies import LONGEST_QUERY
from shared.text import check_text

DOCUMENTS, QUERIES, JUDGEMENTS = "docs.jsonl", "queries.jsonl", "qrels.tsv"


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, queries, and which of the one answer the other.

    Attributes:
        name: of its folder.
        digest: of the documents, in hexadecimal.
        documents: id → text, the title in front; those that hold anything.
        empty: ids of the documents that hold nothing.
        queries: id → text.
        grades: query id → document id → grade, of these queries; at least one.
        unknown_documents: how many judged documents are none of these.
        unknown_queries: how many judged queries are none of these.
    """

    name: str
    digest: str
    documents: Mapping[str, str]
    empty: Sequence[str]
    queries: Mapping[str, str]
    grades: Grades
    unknown_documents: int
    unknown_queries: int


def read_collection(folder: Path, limit: int | None = None) -> Collection:
    """Returns a collection.

    Args:
        folder: holds the three files.
        limit: only the first so many queries.

    Raises:
        CollectionUnusable: naming the file and the line.
    """
    path, data = _read(folder, DOCUMENTS)
    documents = {
        id_: "\n".join(str(each[part]) for part in ("title", "text") if each.get(part))
        for id_, each in _read_objects(path, data)
    }
    if not any(text.strip() for text in documents.values()):
        raise CollectionUnusable(f"{path}: no document holds anything.")
    path, lines = _read(folder, QUERIES)
    queries = {id_: str(each.get("text") or "") for id_, each in _read_objects(path, lines)}
    if longer := [id_ for id_, text in queries.items() if len(text) > LONGEST_QUERY]:
        most = f"{LONGEST_QUERY:,} characters"
        raise CollectionUnusable(f"{path}: the query {longer[0]!r} has more than {most}.")
    path, lines = _read(folder, JUDGEMENTS)
    judged = read_judgements(path.name, split_lines(path, lines), documents)
    asked = dict(list(queries.items())[:limit])
    grades = {id_: judged[id_] for id_ in asked if id_ in judged}
    if not grades:
        raise CollectionUnusable(f"{path}: none of the queries is judged.")
    return Collection(
        name=folder.resolve().name,
        digest=hashlib.sha256(data).hexdigest(),
        documents={id_: text for id_, text in documents.items() if text.strip()},
        empty=[id_ for id_, text in documents.items() if not text.strip()],
        queries={id_: asked[id_] for id_ in grades},
        grades=grades,
        unknown_documents=len({d for found in judged.values() for d in found} - documents.keys()),
        unknown_queries=len(judged.keys() - queries.keys()),
    )


def _read(folder: Path, name: str) -> tuple[Path, bytes]:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            try:
                data = path.read_bytes()
                return path, gzip.decompress(data) if path.suffix == ".gz" else data
            except (OSError, EOFError, zlib.error) as error:
                raise CollectionUnusable(f"{path}: {error}") from error
    raise CollectionUnusable(f"{folder} holds neither {name} nor {name}.gz.")


def split_lines(path: Path, data: bytes) -> list[tuple[int, str]]:
    r"""Returns (number, line) of each line that is not blank; they end with "\n" or "\r\n" only."""
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CollectionUnusable(f"{path}, line {line}: not UTF-8") from error
    return [(n, line.removesuffix("\r")) for n, line in enumerate(lines, 1) if line.strip()]


def _read_objects(path: Path, data: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields (id, object) of each line that is not blank; ids 7 and "7" are one."""
    lines: dict[str, int] = {}
    for number, line in split_lines(path, data):
        try:
            each = json.loads(line)
            id_ = each["id"]
            check_text(each)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise CollectionUnusable(f"{path}, line {number}: no JSON object with an id") from error
        except InvalidRequest as error:
            raise CollectionUnusable(f"{path}, line {number}: {error}") from error
        if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
            raise CollectionUnusable(f"{path}, line {number}: the id is neither text nor number")
        earlier = lines.setdefault(str(id_), number)
        if earlier != number:
            raise CollectionUnusable(f"{path}, lines {earlier} and {number}: the id {id_!r} twice")
        yield str(id_), each
