"""EML: a mail as its reader sees it: who wrote to whom and when, then its text once."""

import codecs
from collections.abc import Iterable, Iterator
from email import policy
from email.header import decode_header
from email.message import EmailMessage, MIMEPart
from email.parser import BytesParser

from functions.ingest.document import ParsedDocument
from functions.ingest.formats.draft import Draft
from functions.ingest.formats.html import write_html
from functions.ingest.formats.options import Options
from shared.errors import DocumentRefused
from shared.files.decode import decode

CALLED = "mail"

_HEAD = ("From", "To", "Cc", "Date")
# One of these every mail has; a colon in its first line many a file has.
_TELLING = ("From", "To", "Date", "Subject", "Received", "Message-ID", "Content-Type")
_ENCRYPTED = {"multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime"}
_PLAIN, _HTML = "text/plain", "text/html"
_UNREADABLE = "\ufffd"


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the text of a mail; its subject is a heading, and the title.

    Of alternatives the plain one is read. Attachments are left out and reported.
    """
    # Neither of which a head begins with, but many a file.
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
    mail = BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
    if not any(name in mail for name in _TELLING):
        raise DocumentRefused("broken", "The file is no mail: it has no head.")
    if mail.get_content_type() in _ENCRYPTED:
        raise DocumentRefused("password", "The mail is encrypted.")
    draft = Draft(options)
    subject = _read_header(mail, "Subject")
    draft.add_heading(1, subject)
    for name in _HEAD:
        if value := _read_header(mail, name):
            draft.add_line(f"{name}: {value}")
    head = draft.length
    for part in _list_shown(mail, draft):
        _write(draft, part)
    if draft.length == head:
        raise DocumentRefused("no_text", "The mail has no text of its own.")
    return draft.finish("The mail has no text.", subject)


def _read_header(mail: EmailMessage, name: str) -> str:
    try:
        value = str(mail.get(name, "")).strip()
        return value if _UNREADABLE not in value else _decode_header(mail, name)
    except Exception:  # noqa: BLE001 - headers of mails are as odd as their senders
        return ""


def _decode_header(mail: EmailMessage, name: str) -> str:
    """Reads a header that has bytes in it as they are, or words in more than their charset has."""
    raw = next(value for key, value in mail.raw_items() if key.lower() == name.lower())
    charsets = (part.get_content_charset() for part in mail.walk())
    likely = next((charset for charset in charsets if charset), None)
    words = [
        _decode_bytes(
            word.encode("ascii", "surrogateescape") if isinstance(word, str) else word,
            charset or likely,
        )
        for word, charset in decode_header(raw)
    ]
    return " ".join("".join(words).split())


def _list_shown(part: MIMEPart, draft: Draft) -> Iterator[MIMEPart]:
    """Yields the parts that are the mail's own text."""
    kind = part.get_content_type()
    if part.is_attachment() or kind == "message/rfc822":
        _leave_out(part, draft)
    elif kind == "multipart/alternative":
        alternatives = list(part.iter_parts())
        chosen = _choose(alternatives)
        yield from () if chosen is None else _list_shown(chosen, draft)
        _note_attachments((each for each in alternatives if each is not chosen), draft)
    elif kind == "multipart/related":  # a page with its pictures
        pieces = list(part.iter_parts())
        yield from (each for root in pieces[:1] for each in _list_shown(root, draft))
        _note_attachments(pieces[1:], draft)
    elif part.is_multipart():
        for inner in part.iter_parts():
            yield from _list_shown(inner, draft)
    elif kind in {_PLAIN, _HTML}:
        yield part
    else:
        _leave_out(part, draft)


def _note_attachments(parts: Iterable[MIMEPart], draft: Draft) -> None:
    """Reports the attachments among parts that are not read; pictures of a page are none."""
    for part in (each for root in parts for each in root.walk()):
        is_of_page = part.get_content_maintype() in {"image", "multipart", "text"}
        if part.is_attachment() or not is_of_page:
            _leave_out(part, draft)


def _leave_out(part: MIMEPart, draft: Draft) -> None:
    draft.leave_out(f"attachment {part.get_filename() or part.get_content_type()!r}")


def _choose(alternatives: list[MIMEPart]) -> MIMEPart | None:
    """Returns the plain alternative if it says anything, else the last, which is the fullest."""
    for each in alternatives:
        if each.get_content_type() == _PLAIN and _decode(each).strip():
            return each
    return alternatives[-1] if alternatives else None


def _write(draft: Draft, part: MIMEPart) -> None:
    if part.get_content_type() == _HTML:
        write_html(draft, _decode(part))
    else:
        draft.add_paragraph(_decode(part))


def _decode(part: MIMEPart) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes) or not data:
        return ""
    return _decode_bytes(data, part.get_content_charset())


def _decode_bytes(data: bytes, charset: str | None) -> str:
    try:
        return decode(data, charset).text
    except DocumentRefused:  # a charset that is none, or not this part's
        return decode(data).text
