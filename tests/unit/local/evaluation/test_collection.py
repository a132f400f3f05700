import gzip
import json
from pathlib import Path

import pytest

from local.evaluation.collection import read_collection
from local.evaluation.trouble import CollectionUnusable
from shared.http.bodies import LONGEST_QUERY

DOCUMENTS: list[dict[str, object]] = [
    {"id": 7, "title": "Seven", "text": "the\u2028seventh"},
    {"id": "8", "title": "", "text": "eighth"},
    {"id": "9", "title": " ", "text": ""},
]
QUERIES: list[dict[str, object]] = [
    {"id": 1, "text": "first?"},
    {"id": "2", "text": "second?"},
    {"id": "3", "text": "?"},
]
JUDGEMENTS = "1\t7\t1\r\n2\t8\t1\r\n2\t77\t1\r\n4\t7\t1\r\n"


def write(
    folder: Path,
    documents: list[dict[str, object]] = DOCUMENTS,
    queries: list[dict[str, object]] = QUERIES,
    judgements: str = JUDGEMENTS,
) -> Path:
    for name, objects in (("docs.jsonl", documents), ("queries.jsonl", queries)):
        lines = [json.dumps(each, ensure_ascii=False) for each in objects]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "qrels.tsv").write_bytes(judgements.encode())
    return folder


def test_p06_what_is_empty_or_missing_is_counted(tmp_path: Path) -> None:
    found = read_collection(write(tmp_path))
    assert found.documents == {"7": "Seven\nthe\u2028seventh", "8": "eighth"}
    assert found.empty == ["9"]
    assert found.queries == {"1": "first?", "2": "second?"}
    assert found.grades == {"1": {"7": 1}, "2": {"8": 1, "77": 1}}
    assert (found.unknown_documents, found.unknown_queries) == (1, 1)


def test_p06_gzipped_files_are_the_same(tmp_path: Path) -> None:
    plain = read_collection(write(tmp_path))
    for path in list(tmp_path.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert read_collection(tmp_path) == plain


def test_a_limit_takes_the_first_queries(tmp_path: Path) -> None:
    found = read_collection(write(tmp_path), limit=1)
    assert (found.queries, found.grades) == ({"1": "first?"}, {"1": {"7": 1}})


def test_other_documents_are_another_collection(tmp_path: Path) -> None:
    before = read_collection(write(tmp_path)).digest
    assert read_collection(write(tmp_path, DOCUMENTS[:2])).digest != before


def test_an_id_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    write(tmp_path, [*DOCUMENTS, {"id": "7", "text": "again"}])
    with pytest.raises(CollectionUnusable, match=r"docs.jsonl, lines 1 and 4: the id '7' twice"):
        read_collection(tmp_path)


@pytest.mark.parametrize(
    "line", [b"{", b"[1]", b'{"text": "x"}', b'{"id": true}', b'{"id": "\xff"}', b"[" * 100_000]
)
def test_a_line_that_is_no_document_is_refused_by_number(tmp_path: Path, line: bytes) -> None:
    write(tmp_path)
    with (tmp_path / "docs.jsonl").open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(CollectionUnusable, match="line 4"):
        read_collection(tmp_path)


@pytest.mark.parametrize("name", ["docs.jsonl", "queries.jsonl"])
@pytest.mark.parametrize(
    ("escape", "words"), [("\\u0000", "a NUL character"), ("\\ud800", "a lone surrogate")]
)
def test_text_that_is_none_is_refused_by_number(
    tmp_path: Path, name: str, escape: str, words: str
) -> None:
    write(tmp_path)
    with (tmp_path / name).open("a", encoding="utf-8") as file:
        file.write(f'{{"id": "bad", "text": "a{escape}b"}}\n')
    with pytest.raises(CollectionUnusable, match=rf"{name}, line 4: /text: holds {words}"):
        read_collection(tmp_path)


def test_documents_that_are_all_empty_are_refused(tmp_path: Path) -> None:
    write(tmp_path, [{"id": "7", "text": " "}, {"id": "8"}])
    with pytest.raises(CollectionUnusable, match=r"docs.jsonl: no document holds anything"):
        read_collection(tmp_path)


def test_a_query_that_the_api_would_not_take_is_named(tmp_path: Path) -> None:
    write(tmp_path, queries=[*QUERIES, {"id": "long", "text": "a" * (LONGEST_QUERY + 1)}])
    with pytest.raises(CollectionUnusable, match=r"queries.jsonl: the query 'long' has more than"):
        read_collection(tmp_path)
    write(tmp_path, queries=[*QUERIES, {"id": "long", "text": "a" * LONGEST_QUERY}])
    assert read_collection(tmp_path).queries.keys() == {"1", "2"}


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    packed = gzip.compress((write(tmp_path) / "docs.jsonl").read_bytes())
    (tmp_path / "docs.jsonl").unlink()
    for damaged in (packed[:-9], packed[:10] + b"\xff" * 20, b"no archive"):
        (tmp_path / "docs.jsonl.gz").write_bytes(damaged)
        with pytest.raises(CollectionUnusable, match=r"docs.jsonl.gz: "):
            read_collection(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "queries.jsonl").unlink()
    with pytest.raises(CollectionUnusable, match=r"holds neither queries\.jsonl nor"):
        read_collection(tmp_path)


def test_queries_that_nobody_judged_measure_nothing(tmp_path: Path) -> None:
    write(tmp_path, judgements="9\t7\t1\n")
    with pytest.raises(CollectionUnusable, match="none of the queries is judged"):
        read_collection(tmp_path)
