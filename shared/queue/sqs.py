"""The queue of changes on SQS."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import batched
from typing import Any

from shared.aws import explaining_trouble
from shared.errors import Unavailable
from shared.model import Change
from shared.queue.messages import write_change

TIMEOUT_SECONDS = 5.0
BATCH = 10
"""What SQS takes at once."""
ATTEMPTS = 3
SQS = ("the queue", "SQS")


class SqsQueue:
    """A `ChangeQueue` on SQS.

    Args:
        url: the queue's.
        timeout: seconds to wait for a silent server, three times in all.
        endpoint_url: another address than the region's own.
    """

    def __init__(
        self, url: str, *, timeout: float = TIMEOUT_SECONDS, endpoint_url: str | None = None
    ) -> None:
        self._url = url
        self._timeout = timeout
        self._endpoint_url = endpoint_url

    @cached_property
    def _client(self) -> Any:
        return open_sqs(self._timeout, self._endpoint_url)

    def send(self, changes: Sequence[Change]) -> None:
        """Sends the changes, in order; an entry that SQS fails is sent again.

        Raises:
            Unavailable: some were not taken.
        """
        for batch in batched(changes, BATCH, strict=False):
            self._send({str(n): write_change(change) for n, change in enumerate(batch)})

    def _send(self, messages: Mapping[str, str]) -> None:
        left = messages
        for _ in range(ATTEMPTS):
            sent = self._send_once(left)
            left = {name: body for name, body in left.items() if name not in sent}
            if not left:
                return
        raise Unavailable(f"the queue did not take {len(left)} of {len(messages)} changes")

    def _send_once(self, messages: Mapping[str, str]) -> set[str]:
        """Returns the names of the entries that SQS says it has; silence about one is a failure."""
        entries = [{"Id": name, "MessageBody": body} for name, body in messages.items()]
        with explaining_trouble(*SQS):
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        return {entry["Id"] for entry in answer.get("Successful", [])}


def open_sqs(timeout: float, endpoint_url: str | None) -> Any:
    """Returns an SQS client."""
    from boto3.session import Session  # noqa: PLC0415, long to load, and only sending needs it
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=timeout,
        read_timeout=timeout,
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
    )
    return Session().client("sqs", endpoint_url=endpoint_url, config=config)
