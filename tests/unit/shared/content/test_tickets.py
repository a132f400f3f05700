import time
from datetime import timedelta

import pytest

from shared.content.tickets import Ticket, Tickets
from shared.errors import Forbidden

TICKET = Ticket("uploads/t/d/1", 4)
MINUTE = timedelta(minutes=1)


def test_a_ticket_says_what_it_was_written_for() -> None:
    tickets = Tickets()
    assert tickets.read(tickets.write(TICKET, MINUTE)) == TICKET


@pytest.mark.parametrize("change", ["", ".", "x", "é", "a.b"])
def test_what_was_not_signed_here_is_no_ticket(change: str) -> None:
    written = Tickets().write(TICKET, MINUTE)
    for each in (change, written, written + change, change + written):
        with pytest.raises(Forbidden):
            Tickets().read(each)


def test_a_ticket_of_another_size_is_none() -> None:
    tickets = Tickets()
    small, large = (tickets.write(Ticket("a", size), MINUTE) for size in (1, 1_000_000))
    with pytest.raises(Forbidden):
        tickets.read(large.partition(".")[0] + "." + small.partition(".")[2])


def test_a_ticket_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    tickets = Tickets()
    written = tickets.write(TICKET, MINUTE)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    with pytest.raises(Forbidden, match="expired"):
        tickets.read(written)
