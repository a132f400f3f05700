"""What a file says is found by its words; what it hides, or never said, is not."""

from collections.abc import Sequence
from typing import Any

import pytest
from docx import Document
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from tests.files.office import save, write_xlsx
from tests.files.pdf import show, write_pdf
from tests.integration.app import App
from tests.integration.functions.ingest.bucket import Bucket


@pytest.fixture
def bucket(app: App) -> Bucket:
    return Bucket(app)


def put(bucket: Bucket, name: str, data: bytes) -> str:
    """Puts a file and returns the text of its document."""
    document = bucket.put(name, data)
    assert document["indexing_status"] == "completed", document["error"]
    chunks = bucket.app.client.get(f"/v1/documents/{document['id']}/chunks").json()["chunks"]
    return "\n\n".join(chunk["content"] for chunk in chunks)


def find_one(bucket: Bucket, query: str, *more: str) -> dict[str, Any]:
    """Returns the one record that has a text, and maybe others beside it."""
    records = [each for each in bucket.find(query) if query in each["content"]]
    assert len(records) == 1, query
    assert [each for each in more if each not in records[0]["content"]] == []
    return records[0]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b"code,region,qty\n007,NA,10\n"),
        ("a.csv", b"code,region,qty\r\n007,NA,10\r\n"),
        ("a.tsv", b"code\tregion\tqty\n007\tNA\t10\n"),
    ],
)
def test_l01_cells_are_found_as_they_are_written(bucket: Bucket, name: str, data: bytes) -> None:
    text = put(bucket, name, data)
    for cell in ("007", "NA", "10"):
        find_one(bucket, cell)
    assert [each for each in ("7.0", "nan", "10.0") if each in text] == []


def test_l03_a_row_is_found_whole_whatever_ends_lines_in_its_cells(bucket: Bucket) -> None:
    data = 'name,note\nAda,"first\nsecond"\nBob,"x\u2028y"\n'
    text = put(bucket, "a.csv", data.encode())
    assert text.split("\n\n")[1:] == ["name: Ada\nnote: first\nsecond", "name: Bob\nnote: x\u2028y"]
    find_one(bucket, "second", "name: Ada")
    assert "xy" not in text


@pytest.mark.parametrize(
    "pages",
    [
        [show("the last phase"), show("insufficiency follows")],
        [show("the last phase", "insufficiency follows")],
    ],
)
def test_l06_words_on_both_sides_of_a_line_s_end_are_found(
    bucket: Bucket, pages: Sequence[str]
) -> None:
    text = put(bucket, "a.pdf", write_pdf(pages))
    find_one(bucket, "phase")
    find_one(bucket, "insufficiency")
    assert bucket.find("phaseinsufficiency") == []
    assert "phaseinsufficiency" not in text


def test_l10_l12_tables_headers_and_footers_of_a_document_are_found(bucket: Bucket) -> None:
    document = Document()
    document.add_heading("Fees", 1)
    document.add_paragraph("Intro.")
    table = document.add_table(2, 2)
    for (row, column), words in {(0, 0): "Plan", (0, 1): "Price", (1, 0): "Pro"}.items():
        table.cell(row, column).text = words
    table.cell(1, 1).text = "42 EUR"
    document.add_paragraph("Outro.")
    document.sections[0].header.paragraphs[0].text = "HDR-77"
    document.sections[0].footer.paragraphs[0].text = "Ref 9981"
    text = put(bucket, "a.docx", save(document))
    places = [text.index(each) for each in ("Fees", "Intro.", "Plan", "Price", "Pro |", "Outro.")]
    assert places == sorted(places)
    assert "Pro | 42 EUR" in find_one(bucket, "42 EUR")["content"].split("\n")
    find_one(bucket, "HDR-77")
    find_one(bucket, "Ref 9981")
    assert (text.count("HDR-77"), text.count("Ref 9981")) == (1, 1)


def test_l13_zero_and_false_are_found_with_their_names(bucket: Bucket) -> None:
    rows: list[list[Any]] = [
        ["item", "stock", "active"],
        ["Bolt", 0, False],
        ["Nut", 0.0, None],
        ["Cap", "", None],
    ]
    text = put(bucket, "a.xlsx", write_xlsx(*rows))
    find_one(bucket, "Bolt", "item: Bolt\nstock: 0\nactive: false")
    assert text.endswith("item: Nut\nstock: 0\n\nitem: Cap")


def test_l17_a_hidden_sheet_is_not_found_and_reported(bucket: Bucket) -> None:
    book = Workbook()
    book.active["A1"] = "SHOWN-77"
    secret = book.create_sheet("secret")
    secret["A1"] = "HIDDEN-78"
    secret.sheet_state = "hidden"
    text = put(bucket, "a.xlsx", save(book))
    find_one(bucket, "SHOWN-77")
    assert bucket.find("HIDDEN-78 hidden 78") == []
    assert "HIDDEN" not in text
    assert bucket.list_documents()[0]["left_out"] == ["hidden sheet 'secret'"]


def test_l18_whatever_stands_on_a_slide_is_found_with_its_number(bucket: Bucket) -> None:
    slides = Presentation()
    for number in (1, 2):
        slide = slides.slides.add_slide(slides.slide_layouts[6])
        for words in (f"FIRST BOX {number}", f"SECOND BOX {number}"):
            slide.shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame.text = words
        table = slide.shapes.add_table(1, 2, 0, 0, Inches(3), Inches(1)).table
        table.cell(0, 0).text, table.cell(0, 1).text = f"Enterprise {number}", "$4,200/seat"
        group = slide.shapes.add_group_shape().shapes.add_group_shape()
        box = group.shapes.add_textbox(0, 0, Inches(2), Inches(1))
        box.text_frame.text = f"GROUPED ONE {number}"
        slide.notes_slide.notes_text_frame.text = f"NOTE-7{number}"
    text = put(bucket, "a.pptx", save(slides))
    for number in (1, 2):
        for words in ("FIRST BOX ", "SECOND BOX ", "Enterprise ", "GROUPED ONE ", "NOTE-7"):
            assert find_one(bucket, f"{words}{number}")["page"] == number
        find_one(bucket, f"Enterprise {number}", f"Enterprise {number} | $4,200/seat")
    assert "BOXSECOND" not in text


def test_l19_what_a_page_shows_is_found_and_nothing_else(bucket: Bucket) -> None:
    page = (
        "<title>The page</title><h1>Quarterly Report</h1><p>Revenue <b>rose</b>.</p>"
        "<ul><li>Item one<li>Item two</ul><script>var SECRET=1</script><style>.x{}</style>"
        "<noscript>NS-77</noscript><template>TP-77</template><table><td>a</td><td>b</td></table>"
        "x<br>y&nbsp;z"
    )
    text = put(bucket, "a.html", page.encode())
    assert find_one(bucket, "Revenue rose.", "Quarterly Report", "Item two")["title"] == "The page"
    for hidden in ("SECRET", "NS-77", "TP-77", "ReportRevenue", "oneItem"):
        assert bucket.find(hidden) == []
    for wrong in ("ReportRevenue", "oneItem", "ab", "xy", "\xa0", "The page"):
        assert wrong not in text


def test_l22_every_marker_is_found_on_its_page(bucket: Bucket) -> None:
    lines = ["Many more words stand on this page of the file."] * 19
    pages = [show(f"marker-{n}", *lines) for n in range(1, 61)]
    pages[29] = ""
    put(bucket, "a.pdf", write_pdf(pages))
    for n in {*range(1, 61)} - {30}:
        records = bucket.find(f"marker-{n}", top_k=3)
        assert f"marker-{n}\n" in records[0]["content"]
        assert [r["page"] for r in records if f"marker-{n}\n" in r["content"]] == [n]
    assert [r for r in bucket.find("words on this page", top_k=100) if r["page"] is None] == []


def test_l25_a_mail_is_found_by_what_it_says_once(bucket: Bucket) -> None:
    mail = (
        b"Subject: =?utf-8?B?6YCA5qy+?=\nContent-Type: multipart/mixed; boundary=m\n\n"
        b"--m\nContent-Type: multipart/alternative; boundary=b\n\n"
        b"--b\nContent-Type: text/plain; charset=iso-8859-1\n"
        b"Content-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe\n"
        b"--b\nContent-Type: text/html\n\n<p>Gr&uuml;&szlig;e</p>\n--b--\n"
        b"--m\nContent-Disposition: attachment; filename=list.txt\n\nATTACHED-77\n--m--\n"
    )
    text = put(bucket, "a.eml", mail)
    assert text.count("Grüße") == 1
    assert find_one(bucket, "Grüße")["title"] == "退款"
    assert bucket.find("ATTACHED-77") == []
    assert bucket.list_documents()[0]["left_out"] == ["attachment 'list.txt'"]


def test_m10_every_chunk_of_a_section_is_found_by_its_heading(bucket: Bucket) -> None:
    bucket.app.client.patch(f"/v1/datasets/{bucket.dataset}", json={"chunking": {"size": 100}})
    bullets = "\n".join(f"- {f'bullet{n} words ' * 14}" for n in range(5))
    text = put(bucket, "a.md", f"# Other\n\nWords.\n\n## 5. Success Criteria\n\n{bullets}".encode())
    records = bucket.find("success criteria", top_k=100)
    for n in range(5):
        assert any(f"bullet{n}" in record["content"] for record in records)
    assert text.count("Success Criteria") == 1  # the path is searched, and is no text
    assert not any(record["content"].strip().endswith("Criteria") for record in records)


def test_m10_a_heading_with_nothing_below_it_is_found(bucket: Bucket) -> None:
    put(bucket, "a.md", b"## S1\n## S2\nFoo")
    assert [record["content"] for record in bucket.find("S1")] == ["## S1"]
    assert [record["content"] for record in bucket.find("S2")] == ["## S2\nFoo"]
