"""Finish what was left undone, then compare both stores chunk by chunk and repair.

The order of the steps stands here. Everything may happen while ingest is at work, at any number of
places at once, and again: a run over stores that agree writes nothing.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from functions.reconcile.clear import clear
from functions.reconcile.parts import Parts
from functions.reconcile.repair import repair
from functions.reconcile.report import Report
from functions.reconcile.window import find_differences, read_window
from shared.errors import IndexUnavailable
from shared.model import EmbeddingSpace, JsonObject
from shared.postgres import outbox
from shared.postgres.documents import count_documents, find_unfinished, restart_document
from shared.postgres.engine import read, transaction
from shared.postgres.standings import list_spaces
from shared.telemetry import log_failure

OVERDUE = timedelta(minutes=5)
"""Work that has been free for so long was forgotten: its message is lost, or its worker died."""

MOST_RESENT = 10_000
"""Messages of one call, the longest waiting first; the next call goes on."""

TRIES = 3
"""How often a range of chunks is looked at, and repaired, before it is left for the next run."""

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run has come: in this space every chunk up to this id was looked at.

    The spaces before it, in the order of `list_spaces`, are done.
    """

    space: EmbeddingSpace
    after: str | None = None

    def write(self) -> JsonObject:
        """Returns the place as JSON."""
        return asdict(self)

    @staticmethod
    def read(written: JsonObject) -> "Place":
        """Returns the place that was written as JSON."""
        return Place(EmbeddingSpace(**written["space"]), written["after"])


def reconcile(
    parts: Parts,
    *,
    repairs: bool = True,
    place: Place | None = None,
    has_time: Callable[[], bool] = lambda: True,
    watch: Callable[[Report], object] = lambda _: None,
) -> tuple[Report, Place | None]:
    """Compares, and repairs.

    Args:
        parts: the clients.
        repairs: False only counts, and writes nothing anywhere.
        place: where an earlier call stopped; None begins anew.
        has_time: asked before each page.
        watch: told after each page.

    Returns:
        What was found, and where the next call goes on; None where everything was looked at.

    Raises:
        Unavailable: a store does not answer; of one index, once all others were looked at.
    """
    report = Report()
    _measure(parts, report)
    if repairs:
        clear(parts, has_time)
    _restart_stuck(parts, report, repairs=repairs)
    if repairs:
        _resend_overdue(parts, report)
    with read(parts.engine) as connection:
        spaces = list_spaces(connection)
    report.leftovers.extend(parts.builder.list_leftovers(spaces))
    failed: IndexUnavailable | None = None
    for space in _list_from(spaces, place):
        begin = place if place is not None and place.space == space else Place(space)
        try:
            stopped = _compare(parts, begin, report, has_time, watch, repairs=repairs)
        except IndexUnavailable as error:  # it keeps no other from being brought into step
            log_failure("an index can't be compared", error, **asdict(space))
            failed = failed or error
            continue
        if stopped is not None:
            return report, stopped
    if failed is not None:
        raise failed
    report.complete = place is None
    return report, None


def _list_from(spaces: list[EmbeddingSpace], place: Place | None) -> list[EmbeddingSpace]:
    if place is None or place.space not in spaces:
        return spaces
    return spaces[spaces.index(place.space) :]


def _compare(
    parts: Parts,
    place: Place,
    report: Report,
    has_time: Callable[[], bool],
    watch: Callable[[Report], object],
    *,
    repairs: bool,
) -> Place | None:
    space = place.space
    if repairs:  # what a worker wrote before it died
        parts.index.refresh(space)
    while has_time():
        until = _settle(parts, place, report, repairs=repairs)
        watch(report)
        if until is None:
            return None
        place = replace(place, after=until)
    return place


def _settle(parts: Parts, place: Place, report: Report, *, repairs: bool) -> str | None:
    """Brings one page of both sides into step, and returns its last id; None for the last page."""
    space = place.space
    window = read_window(parts.engine, parts.index, space, place.after)
    differences = find_differences(parts.engine, window)
    report.find(differences)
    if repairs:
        for attempt in range(1, TRIES):
            if not differences:
                break
            repair(parts.engine, parts.index, space, differences, again=attempt > 1)
            parts.index.refresh(space)
            window = read_window(parts.engine, parts.index, space, place.after, window.until)
            differences = find_differences(parts.engine, window)
        report.leave(differences)
    report.count(window)
    return window.until


def _measure(parts: Parts, report: Report) -> None:
    with read(parts.engine) as connection:
        counts = count_documents(connection)
        backlogs = outbox.measure_backlogs(connection)
    for dataset_id, count in counts.items():
        report.datasets[dataset_id].documents = count
    for dataset_id, backlog in backlogs.items():
        report.datasets[dataset_id].waiting = backlog.documents
        report.datasets[dataset_id].oldest_seconds = backlog.oldest_seconds


def _restart_stuck(parts: Parts, report: Report, *, repairs: bool) -> None:
    after = None
    while True:
        with read(parts.engine) as connection:
            page = find_unfinished(connection, after, _PAGE)
        if not page:
            return
        for document in page:
            report.datasets[document.dataset_id].stuck += 1
        if repairs:
            changes = []
            for document in page:
                with transaction(parts.engine) as connection:
                    changes.append(restart_document(connection, document))
            parts.queue.send([change for change in changes if change is not None])
        after = page[-1].id


def _resend_overdue(parts: Parts, report: Report) -> None:
    with read(parts.engine) as connection:
        overdue = outbox.find_overdue(connection, OVERDUE, MOST_RESENT)
    parts.queue.send(overdue)
    report.resent = len(overdue)
