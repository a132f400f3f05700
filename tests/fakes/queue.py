"""A queue of changes in memory."""

from collections.abc import Sequence

from shared.model import Change
from shared.queue.messages import write_change


class FakeChangeQueue:
    def __init__(self) -> None:
        self.messages: list[str] = []

    def send(self, changes: Sequence[Change]) -> None:
        self.messages.extend(write_change(change) for change in changes)
