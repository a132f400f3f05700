"""Connections: how they are made, and the rule that no answer goes to another question."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pg8000
from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InvalidatePoolError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from shared.errors import ConfigurationError, DatabaseUnavailable
from shared.postgres.prepared import keep_prepared
from shared.postgres.states import find_state, is_passing, is_read_only

_DRIVER = "postgresql+pg8000"
_LOCAL_HOSTS = {None, "", "localhost", "127.0.0.1", "::1", "host.docker.internal"}
_RESTED_SECONDS = 2.0
"""A connection that rested longer is tried before it is used."""

_TRY_SECONDS = 1.0
"""How long one is tried: a path that died without a word takes no more of a query's time."""

_HELD_SECONDS = 30
"""How long a transaction may lie idle before the server ends it, and its locks with it."""


def connect(
    url: str,
    *,
    timeout: float,
    pool_size: int = 5,
    password: Callable[[], str] | None = None,
) -> Engine:
    """Returns an engine; no connection is made yet.

    Args:
        url: a SQLAlchemy URL of driver pg8000. Hosts other than this machine are reached by TLS.
        timeout: seconds to wait for a connection, from the server or from the pool, and for the
            server to go on with its answer.
        pool_size: most connections at once.
        password: called for each new connection, for tokens that expire.

    Raises:
        ConfigurationError: it is no such URL.
    """
    target = _read_url(url)
    arguments: dict[str, Any] = {"timeout": timeout, "application_name": "winnow"}
    if target.host not in _LOCAL_HOSTS and "unix_sock" not in target.query:
        arguments["ssl_context"] = ssl.create_default_context()
    engine = create_engine(
        target,
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=timeout,
        # The pool's own mode, so that a read costs its statement and nothing around it.
        isolation_level="AUTOCOMMIT",
        # What users send has no place in errors, and so in logs.
        hide_parameters=True,
        connect_args=arguments,
    )
    event.listen(engine, "handle_error", _distrust)
    keep_prepared(engine)
    event.listen(engine, "connect", _send_at_once)
    event.listen(engine, "connect", _let_go)
    event.listen(engine, "checkin", _note_rest)
    event.listen(engine, "checkout", _try_rested)
    if password is not None:
        token = password

        def sign(_dialect: Any, _record: Any, _args: Any, parameters: dict[str, Any]) -> None:
            parameters["password"] = token()

        event.listen(engine, "do_connect", sign)
    return engine


def _read_url(url: str) -> URL:
    try:
        target = make_url(url)
    except (ArgumentError, ValueError):
        target = None
    if target is None or target.drivername != _DRIVER:
        # Not what it is: that may hold a password.
        raise ConfigurationError(
            f"WINNOW_DATABASE_URL is not a database URL such as {_DRIVER}://user:password@host/name"
        ) from None
    return target


def _distrust(context: ExceptionContext) -> None:
    if context.connection is None:
        # There is no connection: whatever the driver calls it, the database does not answer.
        raise DatabaseUnavailable
    # A parameter that can't be encoded leaves pg8000 out of step with the server: the next
    # statement would read this one's answer. What is no error of the database ends the connection.
    database_error = context.dialect is not None and isinstance(
        context.original_exception, context.dialect.loaded_dbapi.Error
    )
    if not database_error:
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False
    # Another server writes now: every connection leads to the one that did.
    if is_read_only(find_state(context.original_exception)):
        context.is_disconnect = True
    # The driver lets a silent server's timeout pass as it is.
    if isinstance(context.original_exception, OSError):
        raise DatabaseUnavailable


def _send_at_once(connection: Any, _record: ConnectionPoolEntry) -> None:
    # The driver writes 8 KB at a time. Unless told otherwise, the system keeps the last part back
    # until the server acknowledges those before, which it puts off by 40 ms.
    if connection._usock.family != socket.AF_UNIX:
        connection._usock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _let_go(connection: Any, _record: ConnectionPoolEntry) -> None:
    # Of a client that is gone with its network, or frozen, the server never hears. A statement, not
    # a parameter of the start, of which poolers take few.
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = '{_HELD_SECONDS}s'")


def _note_rest(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info["rests_since"] = time.monotonic()


def _try_rested(connection: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
    # A function that was frozen wakes up with connections that the server has closed.
    if time.monotonic() - record.info.get("rests_since", time.monotonic()) < _RESTED_SECONDS:
        return
    try:
        with _hurried(connection, _TRY_SECONDS), closing(connection.cursor()) as cursor:
            cursor.execute("SELECT 1")
    except (pg8000.Error, OSError) as error:
        # Those that rested beside it went the same way.
        raise InvalidatePoolError from error


@contextmanager
def read(engine: Engine, timeout: float | None = None) -> Iterator[Connection]:
    """Yields a connection in autocommit: each statement sees the newest committed state.

    Args:
        engine: which database.
        timeout: seconds for the server to go on with an answer, where that is less than the
            engine's own; a connection on which it passes is closed.
    """
    with _available(), _open(engine) as connection:
        if timeout is None:
            yield connection
            return
        with _hurried(connection.connection.dbapi_connection, timeout):
            yield connection


@contextmanager
def _hurried(driver: Any, timeout: float) -> Iterator[None]:
    # On the socket, to which the driver has no other way, it costs nothing; a statement_timeout
    # would cost a statement each time.
    socket = driver._usock
    usual = socket.gettimeout()
    socket.settimeout(min(timeout, usual))
    try:
        yield
    finally:
        if socket.fileno() >= 0:  # it is closed where the time was over
            socket.settimeout(usual)


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """Yields a connection in one transaction: committed at the end, rolled back on any error."""
    with _available(), _open(engine) as connection:
        _set_transactional(connection)
        with connection.begin():
            yield connection


def _set_transactional(connection: Connection) -> None:
    try:
        connection.execution_options(isolation_level="READ COMMITTED")
    except (pg8000.Error, OSError) as error:
        # Said on the driver's own connection, so that nobody else looks at what goes wrong.
        connection.invalidate()
        raise DatabaseUnavailable from error


def _open(engine: Engine) -> Connection:
    try:
        return engine.connect()
    except OSError as error:  # before the server's first word, the driver lets it pass as it is
        raise DatabaseUnavailable from error


@contextmanager
def _available() -> Iterator[None]:
    try:
        yield
    except (OperationalError, PoolTimeout) as error:
        raise DatabaseUnavailable from error
    except DBAPIError as error:
        if error.connection_invalidated or is_passing(find_state(error)):
            raise DatabaseUnavailable from error
        raise
