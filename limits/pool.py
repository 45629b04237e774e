"""The way to the database: psycopg's own pool, bounded, read-write sessions only, no Django.

A process keeps at most `POOL_SIZE` connections here, and one more where it listens (`wakeups`).
"""

import atexit
import logging
import os
import select
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from limits.errors import BoxBusyError, BoxUnreachableError, InTransactionError, NotMigratedError

log = logging.getLogger(__name__)

POOL_SIZE: Final = 4
CONNECT_TIMEOUT: Final = 4
"""Seconds until a box that does not answer is an error (C2: under 5)."""

# A connection counts as broken when the server went away or turned read-only.
_BROKEN: Final = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    psycopg.errors.ReadOnlySqlTransaction,
)
_NOT_MIGRATED: Final = (
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
)

# Another try finds the box as good as before: what was asked for has not been done.
_BUSY: Final = (
    psycopg.errors.QueryCanceled,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.OutOfMemory,
    psycopg.errors.DiskFull,
)
# A function was reinstalled under a connection that knows it otherwise: another connection does.
_STALE: Final = (psycopg.errors.FeatureNotSupported, psycopg.errors.InternalError_)

type Connection = psycopg.Connection[DictRow]

_databases: "weakref.WeakSet[Database]" = weakref.WeakSet()


class Database:
    """One box's database.

    Threads share an instance; a forked child opens connections of its own.
    """

    def __init__(self, url: str, *, application_name: str = "stackbone", size: int = POOL_SIZE) -> None:
        """Remember where the database is; nothing connects before the first call.

        `url` is a PostgreSQL URL or conninfo; raises `BoxUnreachableError` if it is neither.
        """
        self.url = url
        self._size = size
        self._lock = threading.Lock()
        self._pool: ConnectionPool[Connection] | None = None
        try:
            given = conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # The driver's own words would repeat the address, password and all.
            raise BoxUnreachableError(
                "the database's address is not one of PostgreSQL, like postgresql://user@host/database"
            ) from None
        defaults: dict[str, Any] = {
            "application_name": application_name,
            "connect_timeout": CONNECT_TIMEOUT,
            "target_session_attrs": "read-write",
            # A dead server is noticed within about 20 seconds; a dead client likewise (`_prepare_session`).
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 2,
            "tcp_user_timeout": 15_000,
        }
        self._conninfo = make_conninfo("", **(defaults | given))
        _databases.add(self)

    def _forget(self) -> None:
        # The parent's sockets are not ours: dropped without a word to the server.
        self._lock = threading.Lock()
        self._pool = None

    def connect(self) -> Connection:
        """Open a connection outside the pool, in autocommit; raises `BoxUnreachableError`."""
        try:
            connection = psycopg.connect(self._conninfo, autocommit=True, row_factory=dict_row)
        except psycopg.Error as error:
            raise BoxUnreachableError(_unreachable(error)) from error
        _prepare_session(connection)
        return connection

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection in autocommit, for reads in several statements."""
        with translated(), self._opened().connection() as connection:
            try:
                yield connection
            except (psycopg.errors.ReadOnlySqlTransaction, *_STALE):
                # The server became a standby: the next connection looks for the one that takes writes.
                connection.close()
                raise

    def fetch(self, sql: LiteralString, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[DictRow]:
        """Run one statement, which is one transaction, and return its rows."""
        with self.connection() as connection:
            # Binary: an instant as text costs more to read than all else of a row.
            return connection.execute(sql, parameters, binary=True).fetchall()

    def close(self) -> None:
        """Close the pool; a later call opens it again."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _opened(self) -> ConnectionPool[Connection]:
        with self._lock:
            if self._pool is None:
                self._pool = ConnectionPool(
                    self._conninfo,
                    connection_class=psycopg.Connection[DictRow],
                    kwargs={"autocommit": True, "row_factory": dict_row},
                    configure=_prepare_session,
                    check=_check_not_closed,
                    min_size=0,
                    max_size=self._size,
                    timeout=CONNECT_TIMEOUT,
                    # Without a minimum each new demand begins anew; an attempt that goes on by itself doubles its
                    # pause without end, and comes back minutes after the box has.
                    reconnect_timeout=CONNECT_TIMEOUT,
                    name="stackbone",
                    open=True,
                )
            return self._pool


@contextmanager
def translated() -> Iterator[None]:
    """Raise this project's errors in place of the driver's: unreachable, busy, not migrated, inside a transaction."""
    try:
        yield
    except _NOT_MIGRATED as error:
        raise NotMigratedError from error
    except psycopg.errors.ActiveSqlTransaction as error:
        raise InTransactionError from error
    except (*_BUSY, *_STALE) as error:
        raise BoxBusyError(_busy(error)) from error
    except (PoolTimeout, *_BROKEN) as error:
        raise BoxUnreachableError(_unreachable(error)) from error


def _forget_all() -> None:
    for database in _databases:
        database._forget()


def _close_all() -> None:
    for database in list(_databases):
        database.close()


os.register_at_fork(after_in_child=_forget_all)
# While the interpreter goes down the pools' own threads stand still, and each would be waited for 5 seconds in vain.
atexit.register(_close_all)


def _prepare_session(connection: Connection) -> None:
    connection.prepare_threshold = 1
    connection.add_notice_handler(_log_notice)
    # Every statement has its index. A plan made while a table was small would be kept for ever, one that is made
    # anew at each call costs a page more than reading it, and compiling one costs more than running it. What is asked
    # for in an order is asked for in that of an index: a plan that sorts would fetch the whole queue for its head.
    # A limit that somebody keeps locked holds up a call for so long, and whatever its thread has to do besides.
    connection.execute(
        "SELECT set_config(name, value, false) FROM (VALUES"
        " ('enable_seqscan', 'off'), ('enable_sort', 'off'),"
        " ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'),"
        " ('default_transaction_isolation', 'read committed'),"
        " ('idle_in_transaction_session_timeout', '10s'), ('lock_timeout', '3s'),"
        " ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '2'),"
        " ('tcp_user_timeout', '15s')"
        ") AS setting (name, value)"
    )


def _check_not_closed(connection: Connection) -> None:
    # A server speaks to an idle connection to say good-bye, hardly ever else: seen without the round trip that the
    # pool's own check costs.
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        connection.close()
        raise psycopg.OperationalError("the server closed the connection while it was idle")


def _log_notice(notice: psycopg.errors.Diagnostic) -> None:
    # What the functions warn of, like a slot that a sweep passed over.
    log.warning("%s", notice.message_primary)


def _busy(error: Exception) -> str | None:
    if isinstance(error, (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)):
        return None
    return f"the box can't do it now: {str(error).partition('\n')[0]}"


def _unreachable(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"the box's database does not answer: {lines[0] if lines else type(error).__name__}"


def database_url() -> str | None:
    """Return the address from the environment: `STACKBONE_DATABASE_URL` before `DATABASE_URL`."""
    return os.environ.get("STACKBONE_DATABASE_URL") or os.environ.get("DATABASE_URL") or None


_default: Database | None = None


def configure(url: str, *, application_name: str = "stackbone") -> Database:
    """Make the database at `url` the process's default and return it."""
    global _default
    if _default is not None:
        _default.close()
    _default = Database(url, application_name=application_name)
    return _default


def default() -> Database:
    """Return the process's default database; raises `BoxUnreachableError` if none is known."""
    if _default is not None:
        return _default
    url = database_url()
    if url is None:
        raise BoxUnreachableError("no database is known: set STACKBONE_DATABASE_URL or run `stackbone dev` first")
    return configure(url)
