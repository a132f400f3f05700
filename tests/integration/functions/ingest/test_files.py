"""Files of every format, put into the bucket, as queries find them afterwards."""

import json

import pytest

from tests.files.office import write_docx
from tests.integration.app import App
from tests.integration.functions.ingest.bucket import FILES, Bucket

CHINESE = "退款需要七个工作日，请联系客服。"


@pytest.fixture
def bucket(app: App) -> Bucket:
    return Bucket(app)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_any_format_is_found_by_its_words(bucket: Bucket, name: str) -> None:
    document = bucket.put(name, FILES[name]())
    assert document["indexing_status"] == "completed", document["error"]
    [record] = bucket.find("needle")
    assert record["document_id"] == document["id"]
    assert "needle" in record["content"]
    assert record["page"] == {"a.pdf": 1, "a.pptx": 2}.get(name)
    assert record["title"] == {"a.html": "The page", "a.eml": "退款"}.get(name, name)
    assert document["name"] == name


@pytest.mark.parametrize("name", FILES)
def test_l21_the_same_bytes_under_a_name_in_capitals(bucket: Bucket, name: str) -> None:
    document = bucket.put(name.upper(), FILES[name]())
    assert document["indexing_status"] == "completed", document["error"]
    assert [record["document_id"] for record in bucket.find("needle")] == [document["id"]]


@pytest.mark.parametrize("name", ["refund.txt", "refund.md", "refund.csv", "refund.html"])
def test_l04_chinese_in_gbk_is_found_and_the_guess_is_shown(bucket: Bucket, name: str) -> None:
    document = bucket.put(name, CHINESE.encode("gbk"))
    assert (document["encoding"], document["guessed"]) == ("gb18030", True)
    [record] = bucket.find("退款")
    assert record["content"] == CHINESE


def test_an_encoding_that_is_known_is_shown_too(bucket: Bucket) -> None:
    document = bucket.put("a.txt", CHINESE.encode())
    assert (document["encoding"], document["guessed"]) == ("utf-8", False)
    document = bucket.put("a.docx", write_docx("x"))
    assert (document["encoding"], document["guessed"]) == (None, False)


def test_l21_bytes_decide_whatever_the_name_says(bucket: Bucket) -> None:
    for name, format_ in (("a.txt", "a.pdf"), ("b", "a.docx"), ("c.pdf", "a.xlsx")):
        document = bucket.put(name, FILES[format_]())
        assert document["indexing_status"] == "completed", document["error"]
        assert document["media_type"] != "text/plain"
    assert len(bucket.find("needle")) == 3


def test_l17_l25_what_is_left_out_is_reported(bucket: Bucket) -> None:
    document = bucket.put("a.html", b"<p>shown<p hidden>HIDDEN-77")
    assert document["left_out"] == ["hidden elements"]
    assert bucket.find("HIDDEN-77") == []
    assert bucket.put("a.html", b"<p>shown<p>HIDDEN-77")["left_out"] == []
    assert len(bucket.find("HIDDEN-77")) == 1


def test_l26_front_matter_is_metadata_and_a_sidecar_wins_over_it(bucket: Bucket) -> None:
    text = b"---\nlang: en\nyear: 2024\ntags: [a, b]\n---\n# Fees\n\nThe needle.\n"
    document = bucket.put("a.md", text)
    assert document["metadata"] == {"lang": "en", "year": 2024, "tags": ["a", "b"]}
    [record] = bucket.find("needle")
    assert record["content"] == "# Fees\n\nThe needle."
    condition = {"name": "year", "comparison_operator": "=", "value": 2024}
    assert bucket.find("needle", metadata_filtering={"mode": "manual", "conditions": [condition]})
    sidecar = {"metadataAttributes": {"lang": "zh", "more": True}}
    bucket.app.objects.put(
        f"datasets/{bucket.dataset}/a.md.metadata.json", json.dumps(sidecar).encode()
    )
    document = bucket.put("a.md", text)
    assert document["metadata"] == {"lang": "zh", "year": 2024, "tags": ["a", "b"], "more": True}


def test_front_matter_that_no_metadata_may_be_is_refused_naming_the_field(bucket: Bucket) -> None:
    document = bucket.put("a.md", b"---\nsource: x\n---\ntext")
    assert (document["indexing_status"], document["error_code"]) == ("error", "metadata")
    assert "front matter: /source" in document["error"]


def test_front_matter_that_can_t_be_read_is_text_and_reported(bucket: Bucket) -> None:
    document = bucket.put("a.md", b"---\nnote: this: needle\n---\ntext")
    assert document["metadata"] == {}
    assert document["left_out"][0].startswith("front matter as metadata: line 1")
    assert len(bucket.find("needle")) == 1


def test_no_escape_of_yaml_or_name_of_an_attachment_is_what_the_database_can_t_take(
    bucket: Bucket,
) -> None:
    document = bucket.put("a.md", b'---\ntitle: "\\0"\n---\nneedle')
    assert document["metadata"] == {}
    assert "NUL" in document["left_out"][0]
    mail = b"Subject: \xff\xfe\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nneedle\n--b\n"
    mail += b"Content-Disposition: attachment; filename=\xff\xfe.txt\n\nx\n--b--\n"
    document = bucket.put("a.eml", mail)
    assert document["indexing_status"] == "completed", document["error"]
    assert len(document["left_out"]) == 1
    assert len(bucket.find("needle")) == 2


def test_a_new_version_brings_its_own_title_encoding_and_report(bucket: Bucket) -> None:
    bucket.put("a.html", f"<title>Alt</title><p hidden>x<p>{CHINESE}".encode("gbk"))
    document = bucket.put("a.html", b"<p>plain")
    assert (document["title"], document["encoding"], document["guessed"]) == (None, "utf-8", False)
    assert document["left_out"] == []
    assert bucket.find("plain")[0]["title"] == "a.html"


def test_m04_equal_passages_have_places_of_their_own_and_go_together(bucket: Bucket) -> None:
    text = "Same words here.\n\n" * 50
    bucket.app.client.patch(
        f"/v1/datasets/{bucket.dataset}", json={"chunking": {"size": 7, "overlap": 0}}
    )
    document = bucket.put("a.txt", text.encode())
    path = f"/v1/documents/{document['id']}/chunks"
    chunks = bucket.app.client.get(path).json()["chunks"]
    assert len({chunk["id"] for chunk in chunks}) == len(chunks) == 50
    assert all(text[c["char_start"] : c["char_end"]] == c["content"] for c in chunks)
    bucket.app.delete(document["id"])
    assert bucket.find("same words") == []
    count = "SELECT count(*) FROM chunks WHERE document_id = :id"
    assert bucket.app.scalar(count, id=document["id"]) == 0
