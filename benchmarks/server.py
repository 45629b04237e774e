"""A PostgreSQL of the benchmark's own, with default settings, and a box in it."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from benchmarks import scripts
from limits import engine
from limits.pool import Database
from stackbone import embedded
from stackbone.commands import MIGRATE, OURS, SETTINGS
from stackbone.embedded import Embedded, EmbeddedError

MAX_HOLD: Final = 3_600_000
LIMITS: Final = {
    "hot": 1_000,
    "full": 1,
    "held-none": 1,
    "held-many": 100_000,
    "queue-none": 1,
    "queue-many": 1,
    "handover": 4,
    **{f"many-{number}": 1_000 for number in range(scripts.MANY)},
}
"""Capacities; each row of the table has limits of its own."""


@contextmanager
def running_box() -> Iterator[Database]:
    """Start a server in a temporary folder with a migrated box that declares `LIMITS`; afterwards all is gone."""
    folder = Path(tempfile.mkdtemp(prefix="stackbone-bench-")).resolve()
    server = Embedded(folder)
    process: subprocess.Popen[bytes] | None = None
    try:
        server.prepare()
        process = subprocess.Popen(
            server.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=embedded.environment(),
            cwd="/",
            start_new_session=True,
        )
        _wait_until_it_accepts(server)
        yield from _box(server)
    finally:
        if process is not None:
            process.kill()
            process.wait()
        server.remove_traces()
        shutil.rmtree(folder, ignore_errors=True)


def _box(server: Embedded) -> Iterator[Database]:
    # A box whose name starts with `test_` would look up its clock's shift.
    url = server.url.replace("/postgres?", "/benchmark?")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE benchmark")
    migrate(url)
    database = Database(url, application_name="benchmark")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(scripts.FLOOR_TABLES)
    engine.declare(
        "benchmark",
        {name: engine.Declared(capacity=capacity, max_hold=MAX_HOLD) for name, capacity in LIMITS.items()},
        db=database,
    )
    try:
        yield database
    finally:
        database.close()


def migrate(url: str) -> None:
    """Make the database at `url` a box."""
    settings = {"STACKBONE_DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": SETTINGS}
    subprocess.run([*MIGRATE, "-v", "0"], env=os.environ | settings, cwd=OURS, check=True)


def _wait_until_it_accepts(server: Embedded) -> None:
    deadline = time.monotonic() + 60
    while not server.accepts():
        if time.monotonic() > deadline:
            raise EmbeddedError("the benchmark's PostgreSQL does not start")
        time.sleep(0.02)
