import codecs
from base64 import b64encode
from email.message import EmailMessage

import pytest

from functions.ingest.document import ParsedDocument
from shared.files.media import Format
from tests.files.reading import read_file, refuse

ALTERNATIVES = """\
Subject: =?utf-8?B?6YCA5qy+?=
From: =?iso-8859-1?Q?J=FCrgen?= <j@a.example>
To: a@b.example, c@d.example
Date: Wed, 09 Apr 2025 11:52:45 +0000
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe
--b
Content-Type: text/html; charset=utf-8

<p>Gr&uuml;&szlig;e <b>as a page</b></p>
--b--
"""


def read(mail: EmailMessage | str) -> ParsedDocument:
    data = mail.encode() if isinstance(mail, str) else mail.as_bytes()
    return read_file(Format.MAIL, data)


def write(text: str = "The body.", subtype: str = "plain", charset: str = "utf-8") -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = "News"
    mail.set_content(text, subtype, charset)
    return mail


def test_l25_words_and_charsets_are_decoded_and_one_alternative_is_read() -> None:
    document = read(ALTERNATIVES)
    assert document.title == "退款"
    assert document.text == (
        "退款\nFrom: Jürgen <j@a.example>\nTo: a@b.example, c@d.example\n"
        "Date: Wed, 09 Apr 2025 11:52:45 +0000\n\nGrüße"
    )
    assert [h.title for h in document.headings] == ["退款"]


def test_l25_a_head_is_read_in_the_charset_that_its_bytes_are_of() -> None:
    gbk = (
        "Subject: 退款通知\nFrom: 张三 <z@a.example>\nContent-Type: text/plain; charset=gbk\n\n正文"
    )
    document = read_file(Format.MAIL, gbk.encode("gbk"))
    assert document.text == "退款通知\nFrom: 张三 <z@a.example>\n\n正文"
    latin = "Subject: Schöne Grüße aus Köln\n\nx".encode("cp1252")
    assert read_file(Format.MAIL, latin).title == "Schöne Grüße aus Köln"
    assert read("Subject: 退款通知 Grüße\n\nx").title == "退款通知 Grüße"


def test_l25_an_encoded_word_may_have_more_than_its_charset() -> None:
    word = b64encode("关于朱镕基".encode("gbk")).decode()
    assert read(f"Subject: =?gb2312?B?{word}?=\n\nx").title == "关于朱镕基"
    split = "=?utf-8?Q?pasi=C5=BEad=C4?=\n =?utf-8?Q?=97jim=C5=B3?="
    assert read(f"Subject: {split}\n\nx").title == "pasižadėjimų"


@pytest.mark.parametrize("before", [codecs.BOM_UTF8, b"\n", b"\r\n\r\n"])
def test_what_stands_before_a_head_is_passed_over(before: bytes) -> None:
    assert read_file(Format.MAIL, before + b"From: a@b.example\n\nx").text.endswith("\n\nx")


def test_l25_attachments_are_named_wherever_they_are() -> None:
    mail = write("<p>The page</p>", "html")
    mail.add_related(b"x", "image", "png", cid="<x>")
    mail.add_related(b"x", "application", "pdf", filename="contract.pdf")
    assert read(mail).left_out == ["attachment 'contract.pdf'"]
    of_apple = EmailMessage()
    of_apple["Subject"] = "News"
    of_apple.make_alternative()
    of_apple.add_alternative("The body.")
    page = write("<p>The body.</p>", "html")
    page.add_attachment(b"x", "application", "pdf", filename="plan.pdf", disposition="inline")
    of_apple.attach(page)
    document = read(of_apple)
    assert (document.text, document.left_out) == ("News\n\nThe body.", ["attachment 'plan.pdf'"])


def test_l25_a_page_alone_is_read_without_tags() -> None:
    assert read(write("<p>Only <b>this</b></p>", "html")).text == "News\n\nOnly this"
    blank = ALTERNATIVES.replace("Gr=FC=DFe", "  ")
    assert read(blank).text.endswith("\n\nGrüße as a page")


def test_l25_attachments_are_named_in_the_report_and_not_read() -> None:
    mail = write()
    mail.add_attachment("attached words", filename="notes ü.txt")
    mail.add_attachment(b"x", "application", "pdf")
    mail.add_attachment(write("forwarded"))
    document = read(mail)
    assert document.text == "News\n\nThe body."
    assert document.left_out == [
        "attachment 'notes ü.txt'",
        "attachment 'application/pdf'",
        "attachment 'message/rfc822'",
    ]


def test_l25_a_mail_that_is_a_calendar_entry_has_no_text() -> None:
    assert refuse(Format.MAIL, write("BEGIN:VCALENDAR", "calendar").as_bytes()).code == "no_text"
    assert refuse(Format.MAIL, write(" ").as_bytes()).code == "no_text"


def test_pictures_of_a_page_are_no_attachments() -> None:
    mail = write("<p>See <img src='cid:x' alt='the plan'></p>", "html")
    mail.add_related(b"x", "image", "png", cid="<x>")
    document = read(mail)
    assert (document.text, document.left_out) == ("News\n\nSee the plan", [])


@pytest.mark.parametrize("charset", ["iso-2022-jp", "shift_jis", "utf-8", "euc-jp"])
def test_japanese_mails_are_read_in_their_charset(charset: str) -> None:
    assert read(write("返金は7日以内。", charset=charset)).text == "News\n\n返金は7日以内。"


def test_a_charset_that_is_none_is_guessed() -> None:
    head = b"Subject: x\nContent-Type: text/plain; charset=x-unknown\n\n"
    mail = head + "Aus Köln, schöne Grüße".encode("cp1252")
    assert read_file(Format.MAIL, mail).text.endswith("Aus Köln, schöne Grüße")


@pytest.mark.parametrize("kind", ["multipart/encrypted; boundary=b", "application/pkcs7-mime"])
def test_an_encrypted_mail_says_so(kind: str) -> None:
    refusal = refuse(Format.MAIL, f"Subject: x\nContent-Type: {kind}\n\nMIAG".encode())
    assert (refusal.code, str(refusal)) == ("password", "The mail is encrypted.")


def test_parts_in_parts_without_end_are_bounded() -> None:
    part = b"--a\nContent-Type: multipart/mixed; boundary=a\n\n"
    mail = b"Content-Type: multipart/mixed; boundary=a\n\n" + part * 600
    assert refuse(Format.MAIL, mail).code in {"no_text", "broken"}
