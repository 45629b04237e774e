"""The queue outlives everybody, PostgreSQL too."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import psycopg
import pytest

from limits import engine, pool, queries
from limits.errors import LimitsError
from limits.rules import DAY, HOUR, MINUTE
from tests.conftest import Clock
from tests.engine.steps import CLIENT, everything
from tests.postgres import Server


class MortalServer(Server):
    """A server of the test's own, that may be killed."""

    def end(self, number: int) -> None:
        """Send the server the signal and wait for its end."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(60)


@pytest.fixture(scope="module")
def mortal() -> Iterator[MortalServer]:
    """Start a second PostgreSQL with a migrated database."""
    server = MortalServer()
    server.start()
    try:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE test_box")
        subprocess.run(
            [sys.executable, "-m", "django", "migrate", "-v", "0"],
            check=True,
            env=os.environ | {"STACKBONE_DATABASE_URL": server.url(), "DJANGO_SETTINGS_MODULE": "studio.settings"},
        )
        yield server
    finally:
        server.remove()


@pytest.fixture
def far(mortal: MortalServer) -> Iterator[pool.Database]:
    """Lend the box on that server, emptied of slots."""
    database = pool.Database(mortal.url(), application_name="far")
    with database.connection() as connection:
        connection.execute("TRUNCATE limits.slot")
        connection.execute("UPDATE limits.limit SET busy = 0, reserved = 0, waiting = 0, next_due_at = NULL")
    engine.declare(
        "tests",
        {name: engine.Declared(capacity=1, max_hold=2 * HOUR) for name in ("a", "traffic")},
        db=database,
    )
    yield database
    database.close()


def fill(far: pool.Database) -> tuple[str, list[str]]:
    """One holds, four wait, with timeouts of their own."""
    asked = [engine.request("a", key=f"k{n}", timeout=(n + 1) * HOUR, db=far).slot_id for n in range(5)]
    assert None not in asked
    held, *waiting = map(str, asked)
    return held, waiting


def queue(far: pool.Database) -> list[str]:
    return [slot.id for slot in queries.slots("a", state="waiting", db=far).items]


class Traffic(threading.Thread):
    """Takes and gives back one slot after the other, and notes what it was told."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__()
        self.url, self.number = url, number
        self.released: list[str] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        database = pool.Database(self.url, application_name="traffic", size=1)
        turn = 0
        try:
            while True:
                turn += 1
                asked = engine.request("traffic", key=f"t{self.number}-{turn}", timeout=0, db=database)
                if asked.slot_id and engine.release(asked.slot_id, actor=CLIENT, db=database).released:
                    self.released.append(asked.slot_id)
        except LimitsError as error:
            self.error = error
        finally:
            database.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["restarted", "killed"])
def test_after_the_server_is_back_everything_is_where_it_was(
    mortal: MortalServer, far: pool.Database, how: signal.Signals
) -> None:
    """Q2, case 17: the holder still holds, the queue has its order and its deadlines, and what was promised is kept."""
    held, waiting = fill(far)
    traffic = [Traffic(mortal.url(), number) for number in range(3)]
    for one in traffic:
        one.start()
    while sum(len(one.released) for one in traffic) < 200:
        assert all(one.error is None for one in traffic)
    before = far.fetch("SELECT * FROM limits.slot WHERE id = ANY (%s) ORDER BY id", [[held, *waiting]])
    mortal.end(how)
    for one in traffic:
        one.join(60)
        assert one.error is not None
    mortal.start()
    assert far.fetch("SELECT * FROM limits.slot WHERE id = ANY (%s) ORDER BY id", [[held, *waiting]]) == before
    released = {row["id"] for row in far.fetch("SELECT id::text FROM limits.slot WHERE state = 'released'")}
    assert released >= {slot for one in traffic for slot in one.released}
    assert engine.check(db=far) == []
    new = engine.request("a", key="new", timeout=HOUR, db=far)
    assert (new.state, new.position) == ("waiting", 5)
    assert not engine.sweep(db=far)
    assert queue(far) == [*waiting, new.slot_id]
    assert engine.release(held, actor=CLIENT, db=far).granted == 1
    assert engine.confirm(waiting[0], db=far).state == "busy"


def test_timeouts_run_on_while_the_server_is_down(mortal: MortalServer, far: pool.Database) -> None:
    """Q2, cases 20 and 26: what fell due meanwhile is settled by the first operation; nothing begins anew."""
    held, waiting = fill(far)
    moved = Clock(far)
    mortal.end(signal.SIGKILL)
    mortal.start()
    moved.advance(3 * HOUR + MINUTE)
    # The holder's two hours are over, and so are the waits of two and of three.
    swept = engine.sweep(db=far)
    assert swept == engine.Swept(expired=1, timed_out=2, granted=1)
    assert engine.confirm(waiting[0], db=far).state == "timed_out"
    assert engine.confirm(waiting[2], db=far).state == "busy"
    assert queue(far) == [waiting[3]]
    assert not engine.release(held, actor=CLIENT, db=far).released
    left = engine.confirm(waiting[3], db=far).wait_left
    assert left is not None
    assert 2 * HOUR - 10 * MINUTE < left <= 2 * HOUR
    assert engine.check(db=far) == []


def test_a_transaction_that_the_kill_cut_off_leaves_nothing(mortal: MortalServer, far: pool.Database) -> None:
    """Q2: released but not committed is not released, and its lock is gone."""
    held, waiting = fill(far)
    before = everything(far)
    session = far.connect()
    session.execute("BEGIN")
    session.execute("SELECT limits.release(%s, 'k', 'me', 'client', NULL, false)", [held])
    mortal.end(signal.SIGKILL)
    session.close()
    mortal.start()
    assert everything(far) == before
    assert engine.release(held, actor=CLIENT, db=far).granted == 1
    assert queue(far) == waiting[1:]
    assert engine.prune(keep_days=1, db=far) == 0
    Clock(far).advance(2 * DAY)
    assert engine.prune(keep_days=1, db=far) == 1
