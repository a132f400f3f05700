"""Marked statements are kept at the server, and mean the same."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, bindparam, select, text
from sqlalchemy.exc import DBAPIError

from shared.postgres.engine import connect, read, transaction
from shared.postgres.prepared import MOST_KEPT, OPTION

table = Table("numbers", MetaData(), Column("n", Integer), Column("name", Integer))
MARKED = select(table.c.n).where(table.c.n > bindparam("least")).order_by(table.c.n)
MARKED = MARKED.execution_options(**OPTION)
KEPT = text("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%numbers%'")


@pytest.fixture(scope="module")
def engine(database_url: str) -> Iterator[Engine]:
    engine = connect(database_url, timeout=5, pool_size=1)
    with transaction(engine) as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"n": n} for n in range(5)])
    yield engine
    engine.dispose()


def ask(engine: Engine, least: int) -> list[int]:
    with read(engine) as connection:
        return list(connection.scalars(MARKED, {"least": least}))


def count_kept(engine: Engine) -> int:
    with read(engine) as connection:
        return int(connection.execute(KEPT).scalar_one())


def test_a_marked_statement_is_kept_once_and_answers_each_question(engine: Engine) -> None:
    assert ask(engine, 2) == [3, 4]
    assert ask(engine, 0) == [1, 2, 3, 4]
    assert ask(engine, 9) == []
    assert count_kept(engine) == 1


def test_others_and_those_in_a_transaction_are_not_kept(engine: Engine) -> None:
    before = count_kept(engine)
    with read(engine) as connection:
        assert connection.scalars(select(table.c.n).where(table.c.n == 3)).all() == [3]
    with transaction(engine) as connection:
        assert connection.scalars(MARKED, {"least": 3}).all() == [4]
    assert count_kept(engine) == before


def test_one_whose_table_changed_is_made_anew(engine: Engine) -> None:
    assert ask(engine, 3) == [4]
    with transaction(engine) as connection:
        connection.execute(text("ALTER TABLE numbers ALTER COLUMN n TYPE bigint"))
    with pytest.raises(DBAPIError, match="cached plan"):
        ask(engine, 3)
    assert ask(engine, 3) == [4]


def test_of_ever_new_statements_the_latest_are_kept(engine: Engine) -> None:
    engine.dispose()  # a new connection, which keeps nothing yet
    ask(engine, 3)
    for count in range(2 * MOST_KEPT):
        wanted = select(table.c.n).where(table.c.n.in_([3, *range(100, 100 + count)]))
        with read(engine) as connection:
            assert connection.scalars(wanted.execution_options(**OPTION)).all() == [3]
        assert count_kept(engine) <= MOST_KEPT
    assert ask(engine, 3) == [4]
