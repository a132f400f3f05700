"""What an SQS record can ask for: a change of ours, or what S3 says of an object. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from shared.errors import ChangeMalformed, InvalidRequest
from shared.model import Change
from shared.queue.messages import parse_change
from shared.text import check_text

_CREATED = "ObjectCreated:"
_REMOVED = ("ObjectRemoved:", "LifecycleExpiration:")


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """An object was created or removed.

    Attributes:
        sequencer: orders the changes of one key; None where the event has none, or tells of the end
            of one version, maybe an old one: then only the object as it is tells if it is gone.
    """

    bucket: str
    key: str
    removed: bool
    sequencer: str | None


def parse_record(body: str) -> list[Change | ObjectChange]:
    """Returns what one message body asks for.

    An S3 test event asks for nothing, and neither does the mark of a folder: a key that ends in /.

    Raises:
        ChangeMalformed: the body is not JSON, or no event that is known here.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ChangeMalformed("the message is not JSON") from error
    if not isinstance(message, dict):
        raise ChangeMalformed("the message is not an object")
    if message.get("Event") == "s3:TestEvent":
        return []
    if "Records" in message:
        return _check(_parse_notification(message["Records"]))
    if message.get("source") == "aws.s3":
        return _check([_parse_eventbridge(message)])
    return [parse_change(message)]


def _check(changes: Sequence[ObjectChange]) -> list[Change | ObjectChange]:
    return [each for each in map(_checked, changes) if not each.key.endswith("/")]


def _checked(change: ObjectChange) -> ObjectChange:
    texts = [change.bucket, change.key, change.sequencer or ""]
    if not all(isinstance(each, str) for each in texts):
        raise ChangeMalformed("a part of the S3 event is not text")
    try:
        check_text(texts)
    except InvalidRequest as error:
        raise ChangeMalformed(f"the S3 event {error.problems[0].detail}") from error
    return change


def _parse_notification(records: Any) -> list[ObjectChange]:
    with _missing_nothing("notification"):
        return [_parse_notified(record) for record in records]


def _parse_notified(record: Mapping[str, Any]) -> ObjectChange:
    name = record["eventName"]
    subject = record["s3"]["object"]
    removed = name.startswith(_REMOVED)
    if not removed and not name.startswith(_CREATED):
        raise ChangeMalformed(f"S3 events of the kind {name!r} are not for this queue")
    return _change(
        record["s3"]["bucket"],
        subject,
        key=unquote_plus(subject["key"]),  # notifications percent-encode keys, EventBridge does not
        removed=removed,
        of_one_version=removed and name.endswith(":Delete") and bool(subject.get("versionId")),
    )


def _parse_eventbridge(message: Mapping[str, Any]) -> ObjectChange:
    kind = message.get("detail-type")
    if kind not in ("Object Created", "Object Deleted"):
        raise ChangeMalformed(f"S3 events of the kind {kind!r} are not for this queue")
    with _missing_nothing("event"):
        detail = message["detail"]
        subject = detail["object"]
        is_final = detail.get("deletion-type") == "Permanently Deleted"
        return _change(
            detail["bucket"],
            subject,
            key=subject["key"],
            removed=kind == "Object Deleted",
            of_one_version=is_final and bool(subject.get("version-id")),
        )


def _change(
    bucket: Mapping[str, Any],
    subject: Mapping[str, Any],
    *,
    key: str,
    removed: bool,
    of_one_version: bool,
) -> ObjectChange:
    return ObjectChange(
        bucket=bucket["name"],
        key=key,
        removed=removed,
        sequencer=None if of_one_version else subject.get("sequencer") or None,
    )


@contextmanager
def _missing_nothing(what: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise ChangeMalformed(f"the S3 {what} lacks a part it must have") from error
