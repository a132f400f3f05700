"""Files by multipart: one answer a file; their names, types and limits."""

import json
from typing import Any

import pytest
from httpx2 import Response

from tests.files.pdf import show, write_pdf
from tests.integration.app import App, Json

TEXT = "Refunds take seven days."
BOUNDARY = "limit-of-parts"
ENCODED = "UTF-8''%E9%80%80%E6%AC%BE%20%E6%94%BF%E7%AD%96(1).md"


def form(*parts: tuple[str, bytes]) -> bytes:
    """Returns a form of parts as bytes: what their Content-Disposition says, and their data."""
    written = (
        f"--{BOUNDARY}\r\nContent-Disposition: form-data; {said}\r\n\r\n".encode() + data + b"\r\n"
        for said, data in parts
    )
    return b"".join(written) + f"--{BOUNDARY}--\r\n".encode()


def post_raw(app: App, dataset: str, body: bytes, query: str = "?wait=true") -> Response:
    content_type = f"multipart/form-data; boundary={BOUNDARY}"
    return app.client.post(
        f"/v1/datasets/{dataset}/documents{query}",
        content=body,
        headers={"Content-Type": content_type},
    )


def post(
    app: App, dataset: str, *files: tuple[Any, ...], path: str = "", **fields: Any
) -> Response:
    url = f"/v1/datasets/{dataset}/documents{path}?wait=true"
    return app.client.post(url, files=[("file", file) for file in files], data=fields)


def text_of(app: App, document: Json) -> str:
    answer = app.client.get(f"/v1/documents/{document['id']}/chunks?limit=500")
    return "\n".join(chunk["content"] for chunk in answer.json()["chunks"])


@pytest.fixture(scope="module")
def dataset(app: App) -> str:
    return app.economy()


def find(app: App, dataset: str, words: str) -> list[str]:
    return app.titles(dataset, words, search_method="full_text_search", query_vector=None)


def test_a_file_is_a_document_with_the_fields_beside_it(app: App, dataset: str) -> None:
    metadata = {"lang": "en", "year": 2024, "tags": ["a", "b"], "public": True}
    fields = {"metadata": json.dumps(metadata), "external_id": "r", "version": "7", "source": "s"}
    answer = post(app, dataset, ("refunds.txt", TEXT.encode()), **fields)
    assert answer.status_code == 201, answer.text
    made = answer.json()
    assert (made["name"], made["media_type"]) == ("refunds.txt", "text/plain")
    assert (made["external_id"], made["version"], made["source"]) == ("r", 7, "s")
    assert made["metadata"] == metadata
    assert made["chunk_counts"] == {"total": 1, "indexed": 1, "disabled": 0}
    assert text_of(app, made) == TEXT
    assert find(app, dataset, "seven days") == ["refunds.txt"]
    stale = post(app, dataset, ("refunds.txt", b"older"), **fields | {"version": "6"})
    assert stale.status_code == 409
    assert "version 6" in stale.json()["detail"]
    again = post(app, dataset, ("refunds.txt", TEXT.encode()), **fields)
    assert again.json()["completed_at"] == made["completed_at"]


def test_without_waiting_it_is_202_once_it_is_safe(app: App, dataset: str) -> None:
    answer = app.client.post(
        f"/v1/datasets/{dataset}/documents", files={"file": ("a.txt", TEXT.encode())}
    )
    assert answer.status_code == 202
    assert answer.json()["indexing_status"] == "waiting"


@pytest.mark.parametrize(
    "said",
    [
        'name="file"; filename="退款 政策(1).md"',
        f'name="file"; filename*={ENCODED}',
        f'name="file"; filename="x.txt"; filename*={ENCODED}',
    ],
)
def test_l21_a_name_of_any_script_comes_as_it_is(app: App, dataset: str, said: str) -> None:
    answer = post_raw(app, dataset, form((said, b"# A\nwords\n")))
    assert answer.status_code == 201, answer.text
    assert (answer.json()["name"], answer.json()["title"]) == ("退款 政策(1).md", None)
    assert answer.json()["media_type"] == "text/markdown"


@pytest.mark.parametrize("sent", ["a/b\\c.txt", "a\\b/c.txt", "C:\\a\\c.txt", "/c.txt"])
def test_l21_a_name_is_kept_without_its_path(app: App, dataset: str, sent: str) -> None:
    answer = post_raw(app, dataset, form((f'name="file"; filename="{sent}"', TEXT.encode())))
    assert answer.json()["name"] == "c.txt"


def test_l21_the_bytes_decide_for_a_pdf_and_an_extension_may_be_in_capitals(
    app: App, dataset: str
) -> None:
    pdf = write_pdf([show("Refund of an annual plan")])
    for name in ("REPORT.PDF", "report", "report.txt", "report.exe"):
        answer = post(app, dataset, (name, pdf))
        assert answer.status_code == 201, answer.text
        assert (answer.json()["name"], answer.json()["media_type"]) == (name, "application/pdf")
        assert "annual plan" in text_of(app, answer.json())


@pytest.mark.parametrize(
    ("name", "data"), [("a.exe", b"MZ\x00"), ("a", b"words"), ("a.doc", b"\xd0\xcf\x11\xe0")]
)
def test_l21_an_unknown_type_is_415_and_writes_nothing(
    app: App, dataset: str, name: str, data: bytes
) -> None:
    before = app.scalar("SELECT count(*) FROM documents")
    answer = post(app, dataset, (name, data))
    assert answer.status_code == 415
    assert ".pdf" in answer.json()["detail"] or ".docx" in answer.json()["detail"]
    assert app.scalar("SELECT count(*) FROM documents") == before


def test_a_part_may_name_its_type_and_charset(app: App, dataset: str) -> None:
    data = "退款需要七个工作日。".encode("gbk")
    named = post(app, dataset, ("notes", data, "text/plain; charset=gbk"))
    assert named.status_code == 201, named.text
    assert (named.json()["encoding"], named.json()["guessed"]) == ("gb18030", False)
    assert text_of(app, named.json()) == "退款需要七个工作日。"


def test_a_file_that_cannot_be_used_is_in_error_with_a_reason(app: App, dataset: str) -> None:
    for name, data, code in [("a.txt", b" \n", "no_text"), ("a.pdf", b"%PDF-1.7\nx", "broken")]:
        answer = post(app, dataset, (name, data))
        assert answer.status_code == 202
        assert (answer.json()["indexing_status"], answer.json()["error_code"]) == ("error", code)
        assert answer.json()["error"]


def test_a_file_over_the_limit_is_413(app: App, dataset: str) -> None:
    before = app.scalar("SELECT count(*) FROM documents")
    document = post(app, dataset, ("a.txt", b"x" * 1_000_001))
    body = post(app, dataset, ("a.txt", b"x" * 8_000_001))
    assert (document.status_code, body.status_code) == (413, 413)
    assert "1000000" in document.json()["detail"]
    assert app.scalar("SELECT count(*) FROM documents") == before


def test_front_matter_and_fields_are_one_metadata(app: App, dataset: str) -> None:
    text = b"---\nlang: en\nyear: 2020\n---\n# A\nwords\n"
    answer = post(app, dataset, ("a.md", text), metadata='{"year": 2024}')
    assert answer.json()["metadata"] == {"lang": "en", "year": 2024}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"metadata": "{"}, "/metadata"),
        ({"metadata": "[1]"}, "/metadata"),
        ({"metadata": '{"source": 1}'}, "/metadata/source"),
        ({"metadata": '{"a": "\\u0000"}'}, "/metadata/a"),
        ({"metadata": '{"a": "\\ud800"}'}, "/metadata/a"),
        ({"metadata": json.dumps({"a": "x" * 70_000})}, "/metadata"),
        ({"version": "0"}, "/version"),
        ({"version": "1.5"}, "/version"),
        ({"version": "seven"}, "/version"),
        ({"external_id": ""}, "/external_id"),
        ({"external_id": "a\0b"}, "/external_id"),
        ({"name": "x" * 300}, "/name"),
        ({"colour": "red"}, "/colour"),
        ({"text": "words"}, "/text"),
    ],
)
def test_a_wrong_field_is_refused_at_its_name(
    app: App, dataset: str, fields: Json, pointer: str
) -> None:
    answer = post(app, dataset, ("a.txt", TEXT.encode()), **fields)
    assert answer.status_code == 400
    assert [problem["pointer"] for problem in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b"", ""),
        (b"words", ""),
        (form(('name="file"; filename="a.txt"', b"x"))[:-6], ""),
        (form(('filename="a.txt"', b"x")), ""),
        (form(('name="file"', b"x")), "/file"),
        (form(('name="other"; filename="a.txt"', b"x")), "/other"),
        (form(('name="name"', b"x")), "/file"),
        (form(*[('name="file"; filename="a.txt"', b"x")] * 2), "/file"),
        (form(*[('name="name"', b"x")] * 2, ('name="file"; filename="a.txt"', b"x")), "/name"),
        (form(('name="name"', b"\xff"), ('name="file"; filename="a.txt"', b"x")), "/name"),
        (form(*[(f'name="{n}"', b"x") for n in range(1_101)]), ""),
        (form((f'name="file"; filename="{"x" * 300}.txt"', b"x")), "/name"),
        (form(('name="file"; filename="a/"', b"x")), "/name"),
        (form(("name=\"file\"; filename*=UTF-8''a%00.txt", b"x")), "file name/1"),
    ],
)
def test_a_form_that_is_none_is_refused(app: App, dataset: str, body: bytes, pointer: str) -> None:
    answer = post_raw(app, dataset, body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["errors"][0]["pointer"] == pointer


def test_a_part_is_not_taken_for_text_that_is_encoded_for_mail(app: App, dataset: str) -> None:
    said = 'name="file"; filename="mail.txt"\r\nContent-Transfer-Encoding: '
    answer = post_raw(app, dataset, form((said + "base64", b"UmVmdW5kcw==")))
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/file"
    assert post_raw(app, dataset, form((said + "Binary", TEXT.encode()))).status_code == 201


def test_a_form_needs_a_boundary_and_a_key(app: App, dataset: str) -> None:
    path = f"/v1/datasets/{dataset}/documents"
    headers = {"Content-Type": "multipart/form-data"}
    assert app.client.post(path, content=form(), headers=headers).status_code == 400
    file, wrong = {"file": ("a.txt", b"x")}, {"Authorization": "Bearer x"}
    assert app.client.post(path, files=file, headers=wrong).status_code == 401


def test_a_file_does_not_go_to_a_dataset_that_embeds_nothing(app: App) -> None:
    answer = post(app, app.dataset(), ("a.txt", TEXT.encode()))
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/file"
    assert "vectors" in answer.json()["detail"]


def test_many_files_are_each_judged_and_answered_alone(app: App) -> None:
    dataset = app.economy()
    sidecar = {"metadataAttributes": {"lang": "en", "year": 2024}}
    answer = post(
        app,
        dataset,
        ("a/refunds.md", b"# Refunds\nThey take seven days."),
        ("b.exe", b"MZ"),
        ("a/refunds.md.metadata.json", json.dumps(sidecar).encode()),
        ("c.txt", b"Shipping takes a week."),
        ("d.txt", b"words"),
        ("d.txt.metadata.json", b"{"),
        ("lost.md.metadata.json", json.dumps(sidecar).encode()),
        path="/batch",
    )
    assert answer.status_code == 201, answer.text
    documents = answer.json()["documents"]
    assert [each["status"] for each in documents] == [201, 415, 201, 400, 400]
    refunds, _, shipping, broken, lost = documents
    assert (refunds["name"], refunds["external_id"]) == ("refunds.md", "a/refunds.md")
    assert (refunds["metadata"], shipping["metadata"]) == ({"lang": "en", "year": 2024}, {})
    assert broken["errors"][0]["pointer"] == "/documents/3"
    assert "d.txt.metadata.json" in broken["detail"]
    assert "lost.md.metadata.json" in lost["detail"]
    again = post(app, dataset, ("c.txt", b"Shipping takes two weeks."), path="/batch")
    [updated] = again.json()["documents"]
    assert (updated["id"], updated["version"]) == (shipping["id"], 2)


def test_what_a_file_among_many_says_of_itself_is_refused_at_its_place(app: App) -> None:
    dataset = app.economy()
    field = {"name": "year", "type": "number"}
    fields = f"/v1/datasets/{dataset}/metadata-fields"
    assert app.client.post(fields, json=field).status_code == 201
    answer = post(
        app,
        dataset,
        ("a.txt", b"words"),
        ("b.txt", b"words"),
        ("b.txt.metadata.json", b'{"metadataAttributes": {"year": "new"}}'),
        ("c.md", b"---\nyear: new\n---\nwords"),
        path="/batch",
    )
    _, sidecar, front_matter = answer.json()["documents"]
    assert sidecar["errors"][0]["pointer"] == "/documents/1/metadata/year"
    assert front_matter["errors"][0]["pointer"] == "/documents/2"


@pytest.mark.parametrize(
    ("files", "fields", "pointer"),
    [
        ([], {"name": "x"}, "/name"),
        ([("a.txt", b"x"), ("b.txt", b"x"), ("a.txt", b"y")], {}, "/file"),
        ([("a.txt", b"x"), *[("a.txt.metadata.json", b"{}")] * 2], {}, "/file"),
        ([("a.txt", b"x")], {"metadata": "{}"}, "/metadata"),
        ([(f"{n}.txt", b"x") for n in range(501)], {}, "/file"),
    ],
)
def test_a_batch_of_files_that_means_nothing_is_refused_whole(
    app: App, dataset: str, files: list[Any], fields: Json, pointer: str
) -> None:
    body = [(f'name="file"; filename="{name}"', data) for name, data in files]
    body += [(f'name="{name}"', value.encode()) for name, value in fields.items()]
    answer = app.client.post(
        f"/v1/datasets/{dataset}/documents/batch",
        content=form(*body),
        headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"},
    )
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
