import uuid
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from shared.model import Action, Change
from shared.postgres import outbox
from shared.postgres.engine import connect, read, transaction
from shared.postgres.outbox import Taken
from shared.settings import DEFAULT_TENANT

LEASE = timedelta(minutes=5)
EXPIRED = timedelta(seconds=-1)
NOW = timedelta(0)


@pytest.fixture
def change(database: Engine) -> Change:
    """Work of a document of its own."""
    ids = {"dataset": str(uuid.uuid4()), "document": str(uuid.uuid4()), "tenant": DEFAULT_TENANT}
    with transaction(database) as connection:
        connection.execute(
            text(
                "INSERT INTO datasets (id, tenant_id, name, indexing_technique, embedding_provider,"
                " embedding_model, embedding_dimension)"
                " VALUES (:dataset, :tenant, :dataset, 'economy', 'none', 'none', 0)"
            ),
            ids,
        )
        connection.execute(
            text(
                "INSERT INTO documents (id, tenant_id, dataset_id, name, uploader, version,"
                " indexing_status, filter_values, updated_at)"
                " VALUES (:document, :tenant, :dataset, 'n', 'u', 1, 'waiting', '{}', now())"
            ),
            ids,
        )
    return Change(DEFAULT_TENANT, ids["dataset"], ids["document"], 1, Action.PROCESS)


def put(engine: Engine, change: Change) -> None:
    with transaction(engine) as connection:
        outbox.put(connection, change)


def take(
    engine: Engine, change: Change, lease: timedelta = LEASE, tenant: str = DEFAULT_TENANT
) -> Taken | None:
    with transaction(engine) as connection:
        return outbox.take(connection, tenant, change.document_id, lease)


def held(engine: Engine, change: Change, lease: timedelta = LEASE) -> Taken:
    taken = take(engine, change, lease)
    assert taken is not None
    return taken


def seen(taken: Taken | None) -> tuple[Change, int] | None:
    return None if taken is None else (taken.change, taken.attempts)


def find(engine: Engine) -> list[Change]:
    with read(engine) as connection:
        return outbox.find_available(connection, 1000)


def renew(change: Change, version: int, action: Action = Action.PROCESS) -> Change:
    return Change(change.tenant_id, change.dataset_id, change.document_id, version, action)


def test_taken_work_is_leased(database: Engine, change: Change) -> None:
    put(database, change)
    assert change in find(database)
    assert seen(take(database, change)) == (change, 1)
    assert take(database, change) is None
    assert change not in find(database)


def test_an_ended_lease_gives_the_work_to_the_next_who_sees_how_often_it_was_taken(
    database: Engine, change: Change
) -> None:
    put(database, change)
    assert seen(take(database, change, EXPIRED)) == (change, 1)
    assert seen(take(database, change, EXPIRED)) == (change, 2)


def test_another_tenant_takes_nothing(database: Engine, change: Change) -> None:
    put(database, change)
    assert take(database, change, tenant=str(uuid.uuid4())) is None
    assert seen(take(database, change)) == (change, 1)


def test_released_work_counts_no_attempt(database: Engine, change: Change) -> None:
    put(database, change)
    taken = held(database, change)
    with transaction(database) as connection:
        outbox.release(connection, taken, "the engine was silent", EXPIRED)
    assert seen(take(database, change)) == (change, 1)


def test_finish_takes_the_row_away(database: Engine, change: Change) -> None:
    put(database, change)
    taken = held(database, change)
    with transaction(database) as connection:
        outbox.finish(connection, taken)
    assert take(database, change, EXPIRED) is None
    assert change not in find(database)


@pytest.mark.parametrize("version", [1, 2])
def test_work_that_was_put_again_in_the_meantime_stays(
    database: Engine, change: Change, version: int
) -> None:
    put(database, change)
    taken = held(database, change)
    newer = renew(change, version, Action.DELETE)
    put(database, newer)
    touch(database, taken)
    assert seen(take(database, change)) == (newer, 1)


def test_work_that_another_worker_took_over_is_its_own(database: Engine, change: Change) -> None:
    put(database, change)
    slow = held(database, change, EXPIRED)
    quick = held(database, change)
    touch(database, slow)
    assert take(database, change) is None  # the lease of the quick one holds
    with transaction(database) as connection:
        outbox.finish(connection, quick)
    with read(database) as connection:
        assert outbox.find(connection, change.document_id) is None


def touch(engine: Engine, taken: Taken) -> None:
    with transaction(engine) as connection:
        outbox.advance(connection, taken, Action.INDEX)
        outbox.release(connection, taken, "x", EXPIRED)
        outbox.finish(connection, taken)


def test_the_longest_waiting_comes_first(database: Engine, change: Change) -> None:
    put(database, change)
    with transaction(database) as connection:
        connection.execute(
            text("UPDATE outbox SET available_at = now() - interval '1 day' WHERE document_id=:id"),
            {"id": change.document_id},
        )
    with read(database) as connection:
        assert outbox.find_available(connection, 1) == [change]
    taken = held(database, change)
    with transaction(database) as connection:
        outbox.finish(connection, taken)


def test_o01_work_that_commits_later_than_newer_work_is_not_missed(
    database: Engine, change: Change, migrated_url: str
) -> None:
    other = connect(migrated_url, timeout=5)
    slow, quick = change, uuid.uuid4()
    with transaction(database) as connection:  # a second document, beside the first
        connection.execute(
            text(
                "INSERT INTO documents (id, tenant_id, dataset_id, name, uploader, version,"
                " indexing_status, filter_values, updated_at) SELECT :id, tenant_id, dataset_id,"
                " name, uploader, version, indexing_status, filter_values, now()"
                " FROM documents WHERE id = :like"
            ),
            {"id": str(quick), "like": slow.document_id},
        )
    later = Change(slow.tenant_id, slow.dataset_id, str(quick), 1, Action.PROCESS)
    with transaction(other) as waiting:
        outbox.put(waiting, slow)
        put(database, later)
        drained = drain(database, slow.dataset_id)
        assert drained == [later]
    assert drain(database, slow.dataset_id) == [slow]
    other.dispose()


def drain(engine: Engine, dataset_id: str) -> list[Change]:
    done = []
    for found in find(engine):
        if found.dataset_id != dataset_id:
            continue
        with transaction(engine) as connection:
            taken = outbox.take(connection, found.tenant_id, found.document_id, LEASE)
            assert taken is not None
            outbox.finish(connection, taken)
        done.append(found)
    return done


def test_work_that_was_dropped_comes_back_before_its_lease_ends(
    database: Engine, change: Change
) -> None:
    put(database, change)
    taken = held(database, change)
    with transaction(database) as connection:
        outbox.drop(connection, [], NOW)
        outbox.drop(connection, [str(uuid.uuid4())], NOW)
    assert change not in find(database)
    with transaction(database) as connection:
        outbox.drop(connection, [change.document_id], NOW)
    assert change in find(database)
    assert held(database, change).attempts == taken.attempts + 1


def test_a_delay_that_was_asked_for_is_not_cut_short(database: Engine, change: Change) -> None:
    put(database, change)
    taken = held(database, change)
    with transaction(database) as connection:
        outbox.release(connection, taken, "silent", LEASE)
        outbox.drop(connection, [change.document_id], NOW)
    assert change not in find(database)


def test_the_only_worker_takes_up_what_an_earlier_run_left(
    database: Engine, change: Change
) -> None:
    put(database, change)
    assert take(database, change)
    assert change not in find(database)
    with transaction(database) as connection:
        outbox.release_all(connection)
    assert change in find(database)
