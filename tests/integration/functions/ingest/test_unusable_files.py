"""Files that can't be used, of every format: each leaves a status, and a reason for people."""

import json
import zlib
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from tests.files.office import ENCRYPTED, OLDER, replace_part
from tests.files.pdf import PICTURE, encrypt, write_pdf
from tests.integration.app import App
from tests.integration.functions.ingest.bucket import FILES, Bucket

Case = tuple[str, bytes | Callable[[], bytes], str, str]

TEXTS = ["a.txt", "a.md", "a.html", "a.csv", "a.tsv", "a.json", "a.jsonl"]
OFFICE = ["a.docx", "a.xlsx", "a.pptx"]
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(256)) * 8
TECHNICAL = (
    "Error",
    "Exception",
    "Traceback",
    "site-packages",
    ".py",
    "object at",
    "None",
    "[Errno",
)


@pytest.fixture
def bucket(app: App) -> Bucket:
    return Bucket(app)


def pack(name: str) -> bytes:
    """Returns an Office file with a part that unpacks to 50 MB."""
    return replace_part(FILES[name](), "media/a.bin", bytes(50_000_000))


def pack_pdf() -> bytes:
    """Returns a PDF whose page unpacks to 80 MB."""
    packed = zlib.compress(bytes(80_000_000), 9)
    head = b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(packed)
    data = write_pdf(["BT ET"])
    return data.replace(b"<< /Length 5 >>\nstream\nBT ET", head + packed)


def list_cases() -> Iterator[Case]:
    for name in FILES:
        yield name, b"", "no_text", "empty"
        yield name, b"x" * 1_000_001, "too_large", "1000001 bytes; the limit is 1000000"
    # Broken, and what has another format than its name says.
    for name in TEXTS:
        yield name, b" \n\t ", "no_text", "white space"
        yield name, b"words\0words", "broken", "NUL at character 5"
        yield name, JPEG, "encoding", "no text: the byte 0xFF at offset 0"
        yield name, ENCRYPTED, "encoding", "no text"
        yield name, b"\xef\xbb\xbfwords\xff", "encoding", "byte 0xFF at offset 8"
    for name, called in zip(["a.pdf", *OFFICE], ["PDF", "DOCX", "XLSX", "PPTX"], strict=True):
        for data in (b"words", JPEG, b"PK\x03\x04" + bytes(99)):
            yield name, data, "broken", f"damaged, or no {called} file"
        yield name, FILES[name]()[:300], "broken", f"or no {called} file"
    for name in ("a.json", "a.jsonl"):
        yield name, b'{"what": "needle"}\n{"what"', "broken", "ine 2"
        yield name, b"<p>needle", "broken", "no JSON: line 1"
        yield name, b"[" * 200_000, "broken", "nests too deep"
    for data in (b"needle", JPEG, b"<p>needle", b'{"what": "needle"}'):
        yield "a.eml", data, "broken", "no mail"
    # Encrypted.
    yield "a.pdf", encrypt(FILES["a.pdf"](), "user", "owner"), "password", "password"
    for name in OFFICE:
        yield name, ENCRYPTED, "password", "protected by a password"
        yield name, OLDER, "unsupported", "save it in today's"
    for kind in ("multipart/encrypted; boundary=b", "application/pkcs7-mime"):
        mail = f"Subject: x\nContent-Type: {kind}\n\nMIAG".encode()
        yield "a.eml", mail, "password", "encrypted"
    # Bombs.
    yield "a.pdf", pack_pdf, "expands_too_far", "expands further than is allowed"
    for name in OFFICE:
        yield name, partial(pack, name), "expands_too_far", "expands to more than"
    names = "n" * 100_000
    rows = "\n".join(["x,y"] * 20_000)
    yield "a.csv", f"{names},b\n{rows}".encode(), "expands_too_far", "characters of text"
    tabs = rows.replace(",", "\t")
    yield "a.tsv", f"{names}\tb\n{tabs}".encode(), "expands_too_far", "characters of text"
    nested = json.dumps({names: dict.fromkeys(map(str, range(50_000)), 1)}).encode()
    for name in ("a.json", "a.jsonl"):
        yield name, nested, "expands_too_far", "more memory than there is for one file"
    # No words in it.
    yield "a.pdf", write_pdf([PICTURE]), "no_text", "pictures"
    yield "a.html", b"<script>x</script>", "no_text", "shows no text"
    yield "a.md", b"---\nlang: en\n---\n", "no_text", "nothing but front matter"
    # Formats that are not read.
    yield "a.exe", b"MZ", "unsupported", "can't be read; those are read: .txt"
    yield "a.doc", OLDER, "unsupported", "save it as .docx"
    yield "a", b"words", "unsupported", "can't be read"


CASES = list(list_cases())


@pytest.mark.parametrize(
    ("name", "data", "code", "words"), CASES, ids=[f"{n}: {w}" for n, _, _, w in CASES]
)
def test_l09_a_file_that_can_t_be_used_has_a_reason_for_people(
    bucket: Bucket, name: str, data: bytes | Callable[[], bytes], code: str, words: str
) -> None:
    bucket.put("good.txt", b"good")
    document = bucket.put(name, data() if callable(data) else data)
    assert (document["indexing_status"], document["error_code"]) == ("error", code)
    assert words in document["error"]
    assert [each for each in TECHNICAL if each in document["error"]] == []
    assert [each["name"] for each in bucket.list_documents()] == ["good.txt", name]
    assert [record["title"] for record in bucket.find("good words needle")] == ["good.txt"]


def test_each_kind_of_trouble_is_tried_with_every_format_that_can_have_it() -> None:
    tried: dict[str, set[str]] = {}
    for name, _, code, _ in CASES:
        tried.setdefault(code, set()).add(name)
    every = set(FILES)
    assert tried["no_text"] == tried["too_large"] == every
    assert tried["broken"] == every
    assert tried["password"] == {"a.pdf", "a.eml", *OFFICE}
    assert tried["expands_too_far"] == {"a.pdf", *OFFICE, "a.csv", "a.tsv", "a.json", "a.jsonl"}
