"""`migrate` by real processes on databases of their own."""

import itertools
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from limits import install, pool, queries
from stackbone.client import Client
from tests.box.conftest import PATIENCE, environment, eventually, free_port, stackbone
from tests.box.fake_server import server_of_version
from tests.postgres import Server

MANAGE = Path(__file__).parents[2] / "manage.py"
# One that waits asks for the lock again and again, and does nothing else.
WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = %s AND query LIKE 'SELECT pg_try_advisory_lock%%' AND state LIKE 'idle%%'"
)


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    """Lend the address of a database with nothing in it."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS test_migrate WITH (FORCE)")
        connection.execute("CREATE DATABASE test_migrate")
        yield server.url("test_migrate")
        connection.execute("DROP DATABASE test_migrate WITH (FORCE)")


def tables(url: str) -> int:
    """Count the engine's tables."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'limits'").fetchone()
    assert row is not None
    return int(row[0])


def installed(url: str) -> dict[str, int]:
    """Return the engine's SQL functions and the transactions that installed each."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT proname, xmin::text::bigint FROM pg_proc WHERE pronamespace = 'limits'::regnamespace"
        )
        return dict(rows.fetchall())


def start_migrate(url: str) -> subprocess.Popen[str]:
    """Start Django's command as an operator would."""
    return subprocess.Popen(
        [sys.executable, str(MANAGE), "migrate"], env=environment(STACKBONE_DATABASE_URL=url),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def test_the_second_of_two_waits_for_the_first(server: Server, empty: str) -> None:
    """case 91: migrate twice at once; only one works, the other waits and finds everything done."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as watcher:

        def waiting() -> int:
            row = watcher.execute(WAITING, ["test_migrate"]).fetchone()
            assert row is not None
            return int(row[0])

        # In the place of a first one that takes its time.
        with psycopg.connect(empty, autocommit=True) as first:
            first.execute("SELECT pg_advisory_lock(1818846567, 0)")
            both = [start_migrate(empty), start_migrate(empty)]
            eventually(lambda: waiting() == 2, why="the others do not wait")
            assert tables(empty) == 0
        outputs = [process.communicate(timeout=PATIENCE)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    assert sum("Applying limits.0001_initial" in output for output in outputs) == 1
    assert sum("SQL functions" in output for output in outputs) == 1
    assert all("waiting for it to end" in output for output in outputs)


def test_a_killed_migrate_leaves_no_lock(server: Server, empty: str) -> None:
    """case 91: no lock outlives its process."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(1818846567, 0)")
        killed = start_migrate(empty)
        eventually(
            lambda: connection.execute(WAITING, [connection.info.dbname]).fetchone() == (1,), why="it does not wait"
        )
        killed.kill()
        killed.communicate()
    done = stackbone("migrate", STACKBONE_DATABASE_URL=empty)
    assert done.returncode == 0, done.stderr
    assert _locks(server) == 0


def test_only_functions_whose_text_changed_are_installed_again(empty: str) -> None:
    """migrate: a second run changes nothing; a function whose checksum differs is replaced."""
    assert stackbone("migrate", STACKBONE_DATABASE_URL=empty).returncode == 0
    before = installed(empty)
    assert stackbone("migrate", STACKBONE_DATABASE_URL=empty).returncode == 0
    assert installed(empty) == before
    with psycopg.connect(empty) as connection:
        connection.execute("UPDATE limits.installed_function SET checksum = 'older' WHERE name = 'release'")
    assert stackbone("migrate", STACKBONE_DATABASE_URL=empty).returncode == 0
    after = installed(empty)
    assert {name for name in before if after.get(name) != before[name]} == {"release"}
    assert after.keys() == before.keys()


def test_clients_go_on_while_functions_are_installed_anew(box: pool.Database, declare: Callable[..., Any]) -> None:
    """migrate: calls under way are not cut off, nothing leaks, and the body of no `with` sees an error."""
    declare(calls=(3, 600_000))
    done, stop = itertools.count(), threading.Event()

    def work() -> None:
        with Client() as client:
            while not stop.is_set():
                with client.slot("calls"):
                    next(done)

    with ThreadPoolExecutor(4) as pool_of_threads, psycopg.connect(box.url, autocommit=True) as operator:
        working = [pool_of_threads.submit(work) for _ in range(4)]
        for _ in range(15):
            before = next(done)
            with operator.transaction():
                operator.execute("UPDATE limits.installed_function SET checksum = 'older'")
                assert "request" in install.install(operator)
            eventually(lambda before=before: next(done) > before + 20, why="nobody works any more")
        stop.set()
        for one in working:
            one.result(60)
    found = queries.limit("calls")
    assert found is not None
    assert (found.busy, found.reserved, found.waiting) == (0, 0, 0)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("request", "OUT wait_left bigint", "OUT wait_left bigint, OUT more text"),
        ("request", "p_asker uuid DEFAULT NULL,", "p_asker uuid DEFAULT NULL, p_more text DEFAULT NULL,"),
        ("confirm", "p_slot_id uuid,", "p_id uuid, p_slot_id uuid DEFAULT NULL,"),
        ("withdraw", "p_reason text)", "p_why text)"),
    ],
    ids=["one more result", "one more parameter", "another first parameter", "another name"],
)
def test_a_function_may_change_its_shape_under_a_living_client(
    box: pool.Database,
    declare: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    old: str,
    new: str,
) -> None:
    """migrate: there is one of each name afterwards, and a client that lives on takes and gives back."""
    declare(calls=(3, 600_000))
    shutil.copytree(install.SQL, tmp_path / "sql")
    text = (tmp_path / "sql" / f"{file}.sql").read_text()
    assert old in text
    with Client() as client, psycopg.connect(box.url, autocommit=True) as operator:
        for _ in range(3):
            client.acquire("calls").release()
        try:
            monkeypatch.setattr(install, "SQL", tmp_path / "sql")
            (tmp_path / "sql" / f"{file}.sql").write_text(text.replace(old, new).replace("p_reason", "p_why"))
            assert install.install(operator) == [file]
            if file == "request":
                assert client.acquire("calls").release().released
            named = operator.execute("SELECT count(*) FROM pg_proc WHERE proname = %s", [file]).fetchone()
            assert named == (1,)
        finally:
            monkeypatch.undo()
            assert install.install(operator) == [file]
        assert client.acquire("calls").release().released


def test_a_plan_changes_nothing(empty: str) -> None:
    """migrate: asking what would be done does not do it."""
    done = subprocess.run(
        [sys.executable, str(MANAGE), "migrate", "--plan"], env=environment(STACKBONE_DATABASE_URL=empty),
        capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "limits.0001_initial" in done.stdout
    assert tables(empty) == 0


def test_a_database_that_does_not_answer_is_one_line() -> None:
    """C1: box away: exit code 1, one line, no traceback."""
    done = stackbone("migrate", STACKBONE_DATABASE_URL=f"postgresql://someone@127.0.0.1:{free_port()}/box")
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert "can't migrate" in line


def test_a_server_too_old_is_refused() -> None:
    """migrate: servers before PostgreSQL 15 are refused by name."""
    with server_of_version("14.9") as url:
        done = stackbone("migrate", STACKBONE_DATABASE_URL=url)
    assert done.returncode == 1
    (line,) = done.stderr.strip().splitlines()
    assert "PostgreSQL 15 or later is required" in line


def _locks(server: Server) -> int:
    with psycopg.connect(server.url("postgres")) as connection:
        row = connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone()
    assert row is not None
    return int(row[0])
