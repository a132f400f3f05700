import json
import os
from collections import Counter
from pathlib import Path

import pytest

from local.files import PathUnusable, SourceFile, find_files, read_document
from shared.errors import DocumentRefused


def write(path: Path, data: str | bytes = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_a_folder_gives_what_can_be_read_below_it_in_order(tmp_path: Path) -> None:
    for name in ("b.md", "a/2.TXT", "a/1.markdown", "a/1.markdown.metadata.json", "c.pdf", "d"):
        write(tmp_path / name)
    for hidden in (".git/x.md", "a/.y.md"):
        write(tmp_path / hidden)
    found = find_files([tmp_path])
    assert [file.external_id for file in found.files] == ["b.md", "a/1.markdown", "a/2.TXT"]
    assert found.files[1].path == tmp_path / "a" / "1.markdown"
    assert found.left_out == Counter({".pdf": 1, "none": 1})


def test_a_named_file_is_taken_whatever_it_is(tmp_path: Path) -> None:
    file = write(tmp_path / "a" / "x.pdf")
    assert find_files([file, file]).files == [SourceFile(file, "x.pdf")]


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PathUnusable, match=r"no file or folder .*/nowhere"):
        find_files([tmp_path / "nowhere"])


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write(tmp_path / folder / "x.md")
    with pytest.raises(PathUnusable, match=r"would both be 'x.md'"):
        find_files([tmp_path / "a", tmp_path / "b"])
    assert len(find_files([tmp_path]).files) == 2


def test_a_file_is_a_document_with_its_sidecars_metadata(tmp_path: Path) -> None:
    metadata = {"lang": "zh", "pages": 3, "tags": ["a"]}
    file = write(tmp_path / "退款.md", "\ufeff# 标题\r\n正文")
    write(tmp_path / "退款.md.metadata.json", json.dumps({"metadataAttributes": metadata}))
    assert read_document(SourceFile(file, "zh/退款.md")) == {
        "name": "退款.md",
        "external_id": "zh/退款.md",
        "text": "# 标题\n正文",
        "metadata": metadata,
    }


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n", "white space"),
        (b"a\x00b", "NUL"),
        (b"abc\xff\x01", "0xFF at offset 3"),
    ],
)
def test_a_file_that_is_no_text_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    file = write(tmp_path / "x.txt", data)
    with pytest.raises(DocumentRefused, match=reason):
        read_document(SourceFile(file, "x.txt"))


@pytest.mark.parametrize(
    ("sidecar", "reason"),
    [
        ("{", r"x.md.metadata.json: "),
        ('{"lang": "en"}', "metadataAttributes"),
        ('{"metadataAttributes": {"document_name": "x"}}', "document_name"),
        ('{"metadataAttributes": {"a": "\\u0000"}}', "NUL"),
    ],
)
def test_a_sidecar_that_means_nothing_is_refused(tmp_path: Path, sidecar: str, reason: str) -> None:
    file = write(tmp_path / "x.md")
    write(tmp_path / "x.md.metadata.json", sidecar)
    with pytest.raises(DocumentRefused, match=reason):
        read_document(SourceFile(file, "x.md"))


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md"))
    write(path)
    (file,) = find_files([tmp_path]).files
    with pytest.raises(DocumentRefused, match="surrogate"):
        read_document(file)
