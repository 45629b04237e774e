"""What every test can ask for: a server, an empty box in it, its clock, limits, a browser."""

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections

from limits import engine, pool
from tests.chromium import launch_arguments
from tests.postgres import DATABASE, SERVER, Server

# Whoever runs the tests under `nohup` or in the background ignores these, and every process started here would too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

KEPT_TABLES = ("installed_function", "runtime", "dbos_migrations", "application_versions")
"""What a migrated database has beside its data: it survives the emptying before each test."""


@pytest.fixture(scope="session")
def server() -> Server:
    """Start the run's PostgreSQL 18; `.url(database)` and the path `.log` are its ways in."""
    if not SERVER.started:
        SERVER.start()
    return SERVER


@pytest.fixture(scope="session")
def migrated(server: Server, django_db_blocker: Any) -> str:
    """Create and migrate the run's one test database and return its address."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{DATABASE}"')
    with django_db_blocker.unblock():
        call_command("migrate", verbosity=0, interactive=False)
        connections.close_all()
    return server.url()


@pytest.fixture(scope="session")
def django_db_setup(migrated: str) -> None:
    """Let pytest-django's own fixtures use the same database instead of making another."""


@pytest.fixture
def box(migrated: str, django_db_blocker: Any) -> Iterator[pool.Database]:
    """Lend an empty box, the process's default database; commits are real.

    Child processes find it by STACKBONE_DATABASE_URL. Django may use the database too.
    """
    _empty(migrated)
    os.environ["STACKBONE_DATABASE_URL"] = migrated
    database = pool.configure(migrated, application_name="tests")
    with django_db_blocker.unblock():
        yield database
        connections.close_all()
    database.close()


@dataclass(frozen=True, slots=True)
class Clock:
    """The one clock of the test database."""

    database: pool.Database

    def advance(self, milliseconds: int) -> None:
        """Move the box's clock forward; the real time goes on beneath."""
        self.database.fetch(
            "INSERT INTO limits.clock_shift AS now (id, shift) VALUES (true, %s)"
            " ON CONFLICT (id) DO UPDATE SET shift = now.shift + excluded.shift RETURNING shift",
            [milliseconds],
        )


@pytest.fixture
def clock(box: pool.Database) -> Clock:
    """Lend the box's clock: `clock.advance(milliseconds)`."""
    return Clock(box)


@pytest.fixture
def declare(box: pool.Database) -> Callable[..., engine.Synced]:
    """Lend `declare(calls=(capacity, max_hold_ms))`; the given limits are then all there are.

    Names with other signs go in a mapping: `declare(**{"voice-calls": (20, 2_700_000)})`.
    """

    def declare(**limits: tuple[int, int]) -> engine.Synced:
        return engine.declare(
            "tests",
            {
                name: engine.Declared(capacity=capacity, max_hold=max_hold)
                for name, (capacity, max_hold) in limits.items()
            },
        )

    return declare


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: dict[str, Any],
) -> dict[str, Any]:
    """Start the Chromium that `make setup` has seen to."""
    return {**browser_type_launch_args, **launch_arguments()}


def _empty(url: str) -> None:
    try:
        _truncate(url, lock_timeout="3s")
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
        # Somebody of an earlier test still sits in a transaction, or a Studio reads what it shows.
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        _truncate(url, lock_timeout="30s")


def _truncate(url: str, *, lock_timeout: str) -> None:
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT string_agg(format('%%I.%%I', schemaname, tablename), ', ')"
            " FROM pg_tables WHERE schemaname IN ('limits', 'dbos') AND tablename <> ALL(%s)",
            [list(KEPT_TABLES)],
        ).fetchone()
        assert tables is not None
        # Append-only tables refuse a TRUNCATE by trigger; a replica fires none.
        connection.execute("SET LOCAL session_replication_role = replica")
        connection.execute(f"SET LOCAL lock_timeout = '{lock_timeout}'")
        connection.execute(f"TRUNCATE {tables[0]} RESTART IDENTITY CASCADE")
        connection.execute("INSERT INTO limits.box (id) VALUES (true)")
