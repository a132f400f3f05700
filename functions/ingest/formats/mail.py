"""EML: a mail as its reader sees it: who wrote to whom and when, then its text once."""

from collections.abc import Iterator
from email import policy
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


def read(data: bytes, _charset: str | None, options: Options) -> ParsedDocument:
    """Returns the text of a mail; its subject is a heading, and the title.

    Of alternatives the plain one is read. Attachments are left out and reported.
    """
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
        return str(mail.get(name, "")).strip()
    except Exception:  # noqa: BLE001 - headers of mails are as odd as their senders
        return ""


def _list_shown(part: MIMEPart, draft: Draft) -> Iterator[MIMEPart]:
    """Yields the parts that are the mail's own text."""
    kind = part.get_content_type()
    if part.is_attachment() or kind == "message/rfc822":
        draft.leave_out(f"attachment {part.get_filename() or kind!r}")
    elif kind == "multipart/alternative":
        chosen = _choose(list(part.iter_parts()))
        yield from () if chosen is None else _list_shown(chosen, draft)
    elif kind == "multipart/related":  # a page with its pictures
        yield from (
            each for root in list(part.iter_parts())[:1] for each in _list_shown(root, draft)
        )
    elif part.is_multipart():
        for inner in part.iter_parts():
            yield from _list_shown(inner, draft)
    elif kind in {_PLAIN, _HTML}:
        yield part
    else:
        draft.leave_out(f"attachment {part.get_filename() or kind!r}")


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
    try:
        return decode(data, part.get_content_charset()).text
    except DocumentRefused:  # a charset that is none, or not this part's
        return decode(data).text
