import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, Integer, bindparam, create_engine, func, make_url, select, text
from sqlalchemy.exc import ProgrammingError

from shared.errors import ConfigurationError, DatabaseUnavailable
from shared.postgres import engine as module
from shared.postgres.engine import connect, read, transaction
from shared.postgres.prepared import OPTION
from tests.servers.line import Line, running_line
from tests.servers.silence import silent_server

pytestmark = pytest.mark.usefixtures("driver_leaks")


@pytest.fixture
def pool_of_one(migrated_url: str) -> Iterator[Engine]:
    engine = connect(migrated_url, timeout=2, pool_size=1)
    yield engine
    engine.dispose()


@contextmanager
def behind_line(url: str, timeout: float, pool_size: int) -> Iterator[tuple[Line, Engine]]:
    """An engine, and the line that its connections lead through."""
    target = make_url(url)
    with running_line(target.host or "", target.port or 5432) as line:
        there = target.set(host="127.0.0.1", port=line.port)
        engine = connect(
            there.render_as_string(hide_password=False), timeout=timeout, pool_size=pool_size
        )
        yield line, engine
        engine.dispose()


@pytest.mark.parametrize(
    "url",
    ["", "garbage", "postgresql://u:secret@h/d", "mysql://u:secret@h/d", "https://u:secret@h",
     "postgresql+pg8000://u:secret@h:port/d"],
)  # fmt: skip
def test_what_is_no_url_of_a_database_is_a_wrong_setting(url: str) -> None:
    with pytest.raises(ConfigurationError, match="WINNOW_DATABASE_URL is not a") as raised:
        connect(url, timeout=1)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("use", [read, transaction])
def test_no_answer_goes_to_another_question_after_a_parameter_that_cannot_be_sent(
    pool_of_one: Engine, use: Any, is_kept: bool
) -> None:
    sent = {"first": "before", "second": "\ud800"}
    asked = text("SELECT :first, :second").execution_options(prepared=is_kept)
    with pytest.raises(UnicodeEncodeError), use(pool_of_one) as connection:
        connection.execute(asked, sent)
    echo = select(bindparam("number", type_=Integer)).execution_options(prepared=is_kept)
    for number in range(20):
        with read(pool_of_one) as connection:
            assert connection.execute(echo, {"number": number}).scalar_one() == number


def test_a_connection_survives_an_error_of_the_database(pool_of_one: Engine) -> None:
    def backend() -> int:
        with read(pool_of_one) as connection:
            return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())

    before = backend()
    with pytest.raises(ProgrammingError), read(pool_of_one) as connection:
        connection.execute(text("SELECT nothing FROM nowhere"))
    assert backend() == before


def test_a_statement_of_several_packets_does_not_wait_for_acknowledgements(
    pool_of_one: Engine,
) -> None:
    statement = select(func.length(bindparam("text"))).execution_options(**OPTION)

    def ask() -> float:
        begun = time.perf_counter()
        connection.execute(statement, {"text": "x" * 20_000})
        return time.perf_counter() - begun

    with read(pool_of_one) as connection:
        # The first ones never waited; then each took more than 0.04 s.
        assert min([ask() for _ in range(60)][30:]) < 0.03


def test_a_server_that_is_away_is_unavailable_and_its_address_stays_ours() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    engine = connect(f"postgresql+pg8000://u:secret@127.0.0.1:{port}/d", timeout=2)
    for use in (read, transaction):
        with pytest.raises(DatabaseUnavailable) as raised, use(engine):
            pytest.fail("there is no connection")
        assert str(raised.value) == "The database does not answer."


def test_a_server_that_takes_connections_and_says_nothing_is_unavailable() -> None:
    with silent_server() as url:
        engine = connect(f"postgresql+pg8000://u:p@127.0.0.1:{make_url(url).port}/d", timeout=0.2)
        for use in (read, transaction):
            with pytest.raises(DatabaseUnavailable), use(engine):
                pytest.fail("there is no connection")


def test_a_server_that_ends_the_session_is_unavailable_and_the_next_query_works(
    pool_of_one: Engine, migrated_url: str
) -> None:
    other = create_engine(migrated_url, isolation_level="AUTOCOMMIT")
    with pytest.raises(DatabaseUnavailable), read(pool_of_one) as connection:
        mine = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with other.connect() as killer:
            killer.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": mine})
        connection.execute(text("SELECT 1"))
    with read(pool_of_one) as connection:
        assert connection.execute(text("SELECT 2")).scalar_one() == 2
    other.dispose()


@pytest.mark.parametrize(
    "state",
    ["08P01", "25006", "25P03", "40001", "40P01", "53100", "53300", "55P03", "57014", "57P01",
     "57P03"],
)  # fmt: skip
@pytest.mark.parametrize("use", [read, transaction])
def test_what_passes_by_itself_is_unavailable(pool_of_one: Engine, use: Any, state: str) -> None:
    with pytest.raises(DatabaseUnavailable), use(pool_of_one) as connection:
        connection.execute(text(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE='{state}'; END $$"))
    with read(pool_of_one) as connection:
        assert connection.execute(text("SELECT 2")).scalar_one() == 2


def test_a_statement_over_the_servers_own_time_limit_is_unavailable(pool_of_one: Engine) -> None:
    with read(pool_of_one) as connection:
        connection.execute(text("SET statement_timeout = 20"))
    with pytest.raises(DatabaseUnavailable), transaction(pool_of_one) as connection:
        connection.execute(text("SELECT pg_sleep(60)"))
    with transaction(pool_of_one) as connection:
        assert connection.execute(text("SELECT 2")).scalar_one() == 2


def test_a_server_that_takes_no_writes_any_more_is_left(pool_of_one: Engine) -> None:
    with read(pool_of_one) as connection:
        connection.execute(text("SET default_transaction_read_only = on"))
    with pytest.raises(DatabaseUnavailable), transaction(pool_of_one) as connection:
        connection.execute(text("CREATE TABLE never (n INTEGER)"))
    with transaction(pool_of_one) as connection:  # on another connection
        connection.execute(text("CREATE TEMPORARY TABLE now (n INTEGER)"))


def test_o09_a_connection_that_the_server_closed_meanwhile_is_made_anew_once(
    migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RESTED_SECONDS", 0.0)
    with behind_line(migrated_url, timeout=2, pool_size=1) as (line, engine):
        for opened in (1, 2, 3):
            with read(engine) as connection:
                assert connection.execute(text("SELECT 7")).scalar_one() == 7
            assert line.opened == opened
            line.hang_up()  # while the process was frozen, say


def test_o09_of_connections_that_died_without_a_word_one_is_tried_and_not_for_long(
    migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RESTED_SECONDS", 0.5)
    monkeypatch.setattr(module, "_TRY_SECONDS", 3.0)
    with behind_line(migrated_url, timeout=20, pool_size=3) as (line, engine):
        with read(engine), read(engine), read(engine):
            assert line.opened == 3
        line.freeze()
        time.sleep(0.6)
        begun = time.monotonic()
        for number in range(3):
            with read(engine) as connection:
                assert connection.scalar(text(f"SELECT {number}")) == number
        assert time.monotonic() - begun < 5.5  # two would have taken 6 seconds


def test_o10_a_silent_server_is_left_after_the_time_limit(migrated_url: str) -> None:
    with behind_line(migrated_url, timeout=2, pool_size=1) as (line, engine):
        with read(engine) as connection:
            connection.execute(text("SELECT 7"))
        line.freeze()
        with pytest.raises(DatabaseUnavailable), read(engine) as connection:
            connection.execute(text("SELECT 7"))
        with read(engine) as connection:  # a new connection is not frozen
            assert connection.execute(text("SELECT 7")).scalar_one() == 7


@pytest.mark.parametrize("trouble", [Line.hang_up, Line.freeze])
def test_a_connection_that_dies_before_a_transaction_is_unavailable_and_the_next_works(
    migrated_url: str, trouble: Callable[[Line], None]
) -> None:
    with behind_line(migrated_url, timeout=1, pool_size=1) as (line, engine):
        with read(engine) as connection:
            connection.execute(text("SELECT 7"))
        trouble(line)
        with pytest.raises(DatabaseUnavailable), transaction(engine):
            pytest.fail("there is no transaction")
        with transaction(engine) as connection:
            assert connection.execute(text("SELECT 7")).scalar_one() == 7


def test_locks_of_a_client_that_is_gone_without_a_word_are_let_go(
    migrated_url: str, pool_of_one: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_HELD_SECONDS", 3)
    lock = text("SELECT pg_try_advisory_xact_lock(77)")

    def can_lock() -> bool:
        with transaction(pool_of_one) as other:
            return bool(other.scalar(lock))

    with behind_line(migrated_url, timeout=2, pool_size=1) as (line, engine):
        with pytest.raises(DatabaseUnavailable), transaction(engine) as connection:
            assert connection.scalar(lock)
            line.freeze()
            assert not can_lock()
            connection.execute(text("SELECT 7"))
        end = time.monotonic() + 20
        while not can_lock():
            assert time.monotonic() < end
            time.sleep(0.1)


def test_a_transaction_that_lay_idle_for_too_long_is_unavailable_and_the_next_works(
    migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_HELD_SECONDS", 1)
    engine = connect(migrated_url, timeout=2, pool_size=1)
    with pytest.raises(DatabaseUnavailable), transaction(engine) as connection:
        connection.execute(text("SELECT 1"))
        time.sleep(3)
        connection.execute(text("SELECT 2"))
    with transaction(engine) as connection:
        assert connection.scalar(text("SELECT 3")) == 3
    engine.dispose()


def test_a_wrong_statement_is_a_fault_of_ours(pool_of_one: Engine) -> None:
    with pytest.raises(ProgrammingError) as raised, read(pool_of_one) as connection:
        connection.execute(text("SELECT :value FROM nowhere"), {"value": "a secret"})
    assert "a secret" not in str(raised.value)


def test_o10_a_read_may_be_given_less_time_than_the_engine_has(migrated_url: str) -> None:
    engine = connect(migrated_url, timeout=30, pool_size=1)
    asleep = text("SELECT pg_sleep(20)")
    with pytest.raises(DatabaseUnavailable), read(engine, timeout=0.05) as connection:
        connection.execute(asleep)
    # Nothing of it is left: neither the late answer nor the short time.
    for timeout in (None, 0.2):
        with read(engine, timeout) as connection:
            assert connection.execute(text("SELECT 3")).scalar_one() == 3
    with read(engine) as connection:
        assert connection.execute(text("SELECT 4 FROM pg_sleep(0.4)")).scalar_one() == 4
    engine.dispose()


def test_a_full_pool_is_unavailable(migrated_url: str) -> None:
    engine = connect(migrated_url, timeout=0.2, pool_size=1)
    with read(engine), pytest.raises(DatabaseUnavailable), read(engine):
        pytest.fail("there is only one connection")
    engine.dispose()


def test_a_wrong_password_is_unavailable_and_is_not_told(migrated_url: str) -> None:
    url = make_url(migrated_url).set(username="nobody", password="hunter2")
    engine = connect(url.render_as_string(hide_password=False), timeout=2)
    with pytest.raises(DatabaseUnavailable) as raised, read(engine):
        pytest.fail("nobody may come in")
    assert "hunter2" not in str(raised.value)


def test_a_transaction_is_rolled_back_by_any_error(pool_of_one: Engine) -> None:
    with transaction(pool_of_one) as connection:
        connection.execute(text("CREATE TABLE IF NOT EXISTS rolled_back (n INTEGER)"))
    with pytest.raises(ZeroDivisionError), transaction(pool_of_one) as connection:
        connection.execute(text("INSERT INTO rolled_back VALUES (1)"))
        raise ZeroDivisionError
    with transaction(pool_of_one) as connection:
        connection.execute(text("INSERT INTO rolled_back VALUES (2)"))
    with read(pool_of_one) as connection:
        assert connection.scalars(text("SELECT n FROM rolled_back")).all() == [2]
        connection.execute(text("DROP TABLE rolled_back"))


def test_the_password_is_asked_for_at_each_new_connection(migrated_url: str) -> None:
    url = make_url(migrated_url)
    asked = []

    def sign() -> str:
        asked.append(1)
        return str(url.password)

    engine = connect(
        url.set(password="stale").render_as_string(hide_password=False), timeout=5, password=sign
    )
    with read(engine), read(engine):
        pass
    assert len(asked) == 2
    engine.dispose()
