import errno
import json
import os
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from local.files import LocalFile, PathUnusable, SourceFile, find_files, read_file
from shared.errors import DocumentRefused


def write(path: Path, data: str | bytes = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_a_folder_gives_what_can_be_read_below_it_in_order(tmp_path: Path) -> None:
    for name in ("b.md", "a/2.PDF", "a/1.jsonl", "a/1.jsonl.metadata.json", "c.png", "d"):
        write(tmp_path / name)
    for hidden in (".git/x.md", "a/.y.md", "~$report.docx"):
        write(tmp_path / hidden)
    found = find_files([tmp_path])
    assert [file.external_id for file in found.files] == ["b.md", "a/1.jsonl", "a/2.PDF"]
    assert found.files[1].path == tmp_path / "a" / "1.jsonl"
    assert found.left_out == Counter({".png": 1, "none": 1})


def test_l26_a_sidecar_without_its_file_is_reported(tmp_path: Path) -> None:
    for name in ("report.pdf", "report.metadata.json", "x.png", "x.png.metadata.json"):
        write(tmp_path / "a" / name)
    write(tmp_path / "report.pdf.metadata.json")
    found = find_files([tmp_path])
    assert [file.external_id for file in found.files] == ["a/report.pdf"]
    assert found.lone_sidecars == ["report.pdf.metadata.json", "a/report.metadata.json"]
    assert found.left_out == Counter({".png": 1})


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


def test_a_folder_that_cannot_be_read_is_told_beside_what_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("x.md", "closed/y.md"):
        write(tmp_path / name)
    closed = tmp_path / "closed"
    scan = os.scandir

    def refuse(folder: str) -> Any:
        if Path(folder) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", refuse)  # which nothing refuses to root
    found = find_files([tmp_path]).files
    assert [file.external_id for file in found] == ["x.md", "closed"]
    with pytest.raises(DocumentRefused, match="Permission denied"):
        read_file(found[1])
    with pytest.raises(PathUnusable, match=r"closed can't be read: Permission denied"):
        find_files([closed])


def test_a_file_is_sent_as_it_is_with_its_sidecars_metadata(tmp_path: Path) -> None:
    metadata = {"lang": "zh", "pages": 3, "tags": ["a"]}
    data = "\ufeff# 标题\r\n正文".encode()
    file = write(tmp_path / "退款.md", data)
    write(tmp_path / "退款.md.metadata.json", json.dumps({"metadataAttributes": metadata}))
    read = read_file(SourceFile(file, "zh/退款.md"))
    assert read == LocalFile("退款.md", "zh/退款.md", "text/markdown", data, metadata)


def test_a_file_that_can_be_no_document_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentRefused, match="can't be read") as refused:
        read_file(SourceFile(write(tmp_path / "x.exe", b"MZ"), "x.exe"))
    assert refused.value.code == "unsupported"
    with pytest.raises(DocumentRefused, match="No such file"):
        read_file(SourceFile(tmp_path / "gone.md", "gone.md"))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path / "x.md")
    for pipe in ("pipe.md", "x.md.metadata.json"):
        os.mkfifo(tmp_path / pipe)
    for name in ("pipe.md", "x.md"):
        with pytest.raises(DocumentRefused, match="is no regular file"):
            read_file(SourceFile(tmp_path / name, name))


def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path: Path) -> None:
    name = "款" * 84 + ".md"  # 255 bytes: no sidecar can be beside it
    assert read_file(SourceFile(write(tmp_path / name), name)).metadata == {}


KNOWN = {
    "name": "x.md",
    "source": None,
    "media_type": "text/markdown",
    "content_hash": sha256(b"---\nlang: en\n---\ntext").hexdigest(),
    "metadata": {"lang": "en", "year": 2024},
}


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"name": "y.md"}, False),
        ({"source": "s"}, False),
        ({"media_type": "text/plain"}, False),
        ({"content_hash": "0"}, False),
        ({"content_hash": None}, False),
        ({"metadata": {"year": 2024}}, False),
        ({"metadata": {"lang": "en", "year": True}}, False),
    ],
)
def test_a_file_is_known_by_all_that_it_becomes(
    tmp_path: Path, change: dict[str, Any], same: bool
) -> None:
    file = write(tmp_path / "x.md", "---\nlang: en\n---\ntext")
    write(tmp_path / "x.md.metadata.json", '{"metadataAttributes": {"year": 2024}}')
    assert read_file(SourceFile(file, "x.md")).is_same(KNOWN | change) is same


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
        read_file(SourceFile(file, "x.md"))


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md"))
    write(path)
    (file,) = find_files([tmp_path]).files
    with pytest.raises(DocumentRefused, match="surrogate"):
        read_file(file)
