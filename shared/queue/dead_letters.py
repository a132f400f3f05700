"""The messages that ingest gave up, and their way back into the queue."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from shared.aws import explaining_trouble
from shared.errors import Unavailable
from shared.queue.sqs import BATCH, SQS, TIMEOUT_SECONDS, open_sqs

_HIDDEN_SECONDS = 60
"""How long a message is nobody else's while it is moved."""


class DeadLetters:
    """A dead-letter queue of SQS.

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

    def redrive(self, watch: Callable[[int], object] = lambda _: None) -> int:
        """Puts every message back into the queue that it came from, and returns how many.

        A message is deleted here once it is there: one that a crash leaves in both is done twice,
        which changes nothing.

        Args:
            watch: told of each batch's size.

        Raises:
            Unavailable: SQS does not answer, or refuses.
        """
        with explaining_trouble(*SQS):
            return self._redrive(watch)

    def _redrive(self, watch: Callable[[int], object]) -> int:
        source = self._find_source()
        moved = 0
        while messages := self._receive():
            self._send(source, messages)
            self._delete(messages)
            moved += len(messages)
            watch(len(messages))
        return moved

    def _find_source(self) -> str:
        answer = self._client.list_dead_letter_source_queues(QueueUrl=self._url)
        sources: list[str] = answer.get("queueUrls", [])
        if len(sources) != 1:
            raise Unavailable(f"{len(sources)} queues have these dead letters, where one must")
        return sources[0]

    def _receive(self) -> Sequence[dict[str, Any]]:
        answer = self._client.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=BATCH,
            VisibilityTimeout=_HIDDEN_SECONDS,
            WaitTimeSeconds=1,
        )
        messages: Sequence[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def _send(self, source: str, messages: Sequence[dict[str, Any]]) -> None:
        entries = [{"Id": str(n), "MessageBody": m["Body"]} for n, m in enumerate(messages)]
        answer = self._client.send_message_batch(QueueUrl=source, Entries=entries)
        if len(answer.get("Successful", [])) != len(entries):
            raise Unavailable("the queue did not take every message")

    def _delete(self, messages: Sequence[dict[str, Any]]) -> None:
        entries = [
            {"Id": str(n), "ReceiptHandle": m["ReceiptHandle"]} for n, m in enumerate(messages)
        ]
        self._client.delete_message_batch(QueueUrl=self._url, Entries=entries)
