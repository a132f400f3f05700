"""What passes between the process that ingests and the one that reads files: both sides of it.

A head is one line of JSON, then come as many bytes as it says. Nothing but text and numbers comes
back, so that a file which takes over the reading process still gives no more than a text.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from functions.ingest.document import Heading, ParsedDocument
from functions.ingest.formats.options import Options
from shared.errors import DocumentRefused
from shared.files.media import Format
from shared.model import Span


@dataclass(frozen=True, slots=True)
class Request:
    """A file that is to be read.

    Attributes:
        seconds: of processor time, the most that it may take.
        memory: bytes, the most that it may take beyond what the process has.
    """

    format: Format
    data: bytes
    charset: str | None
    options: Options
    seconds: int
    memory: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of it.

    Attributes:
        result: the document, or why it can't be used.
        cause: for the log: what went wrong, without the file's words.
        is_spent: the process ends, as it has taken much memory.
    """

    result: ParsedDocument | DocumentRefused
    cause: str | None = None
    is_spent: bool = False


def write_request(stream: BinaryIO, request: Request) -> None:
    """Sends a request."""
    head = {
        "format": request.format,
        "charset": request.charset,
        "options": asdict(request.options),
        "seconds": request.seconds,
        "memory": request.memory,
    }
    _write(stream, head, request.data)


def read_request(stream: BinaryIO) -> Request | None:
    """Returns the next request; None where there is no other."""
    received = _read(stream)
    if received is None:
        return None
    head, data = received
    head["format"], head["options"] = Format(head["format"]), Options(**head["options"])
    return Request(data=data, **head)


def write_answer(stream: BinaryIO, answer: Answer) -> None:
    """Sends an answer."""
    result, text = answer.result, ""
    if isinstance(result, ParsedDocument):
        fields, text = asdict(result), result.text
        fields["text"] = ""
        head: dict[str, Any] = {"document": fields}
    else:
        head = {"refused": {"code": result.code, "reason": str(result)}}
    _write(stream, {**head, "cause": answer.cause, "is_spent": answer.is_spent}, text.encode())


def read_answer(stream: BinaryIO) -> Answer | None:
    """Returns the answer; None where the other side is gone."""
    received = _read(stream)
    if received is None:
        return None
    head, text = received
    result: ParsedDocument | DocumentRefused
    if "refused" in head:
        result = DocumentRefused(**head["refused"])
    else:
        fields = head["document"]
        fields["text"] = text.decode()
        fields["headings"] = [
            Heading(each["level"], each["title"], Span(**each["span"]))
            for each in fields["headings"]
        ]
        result = ParsedDocument(**fields)
    return Answer(result, head["cause"], head["is_spent"])


def _write(stream: BinaryIO, head: dict[str, Any], data: bytes) -> None:
    stream.write(json.dumps({**head, "bytes": len(data)}).encode() + b"\n")
    stream.write(data)
    stream.flush()


def _read(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    head = json.loads(line)
    size = head.pop("bytes")
    data = stream.read(size)
    return (head, data) if len(data) == size else None
