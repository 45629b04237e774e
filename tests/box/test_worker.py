"""`stackbone worker` as a real process."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from limits import engine, queries
from limits.pool import Database
from tests.box.conftest import PATIENCE, STACKBONE, environment, eventually, free_port, names_of
from tests.conftest import Clock
from tests.engine.locks import held, see_waiting

type Start = Callable[..., tuple[subprocess.Popen[bytes], Path]]


@pytest.fixture
def start(tmp_path: Path, workspace: Path) -> Iterator[Start]:
    """Lend `start(url)`, which starts a worker and returns it with the file it prints to."""
    started: list[subprocess.Popen[bytes]] = []

    def start(url: str, **env: str) -> tuple[subprocess.Popen[bytes], Path]:
        printed = tmp_path / f"worker-{len(started)}.log"
        with printed.open("wb") as output:
            process = subprocess.Popen(
                [*STACKBONE, "worker", "--workspace", str(workspace)],
                env=environment(STACKBONE_DATABASE_URL=url, **env), stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip
        started.append(process)
        return process, printed

    yield start
    for process in started:
        process.kill()
        process.wait()


def says(printed: Path, text: str) -> None:
    """Wait until `text` was printed."""
    eventually(lambda: text in printed.read_text(), why=f"never said {text!r}")


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_declares_the_config_and_stops_when_told(box: Database, start: Start, sign: signal.Signals) -> None:
    """D6: a worker syncs the config at its start; exit code 0 at SIGTERM and Ctrl-C."""
    process, printed = start(box.url)
    says(printed, "is ready")
    assert names_of(box) == ["voice-calls"]
    process.send_signal(sign)
    assert process.wait(PATIENCE) == 0
    assert f"{sign.name}: stopping" in printed.read_text()


def test_a_worker_takes_back_what_is_due_and_says_so(box: Database, clock: Clock, start: Start) -> None:
    """F8: what falls due is settled within a second or so, not at the next 15; the log says once what was done."""
    process, printed = start(box.url)
    says(printed, "is ready")
    slots = [engine.request("voice-calls", key=str(n)) for n in range(3)]
    clock.advance(45 * 60_000)
    says(printed, "swept: 2 expired, 1 granted")
    states = [found.state for slot in slots if (found := queries.slot(str(slot.slot_id)))]
    assert states == ["expired", "expired", "reserved"]
    process.terminate()
    assert process.wait(PATIENCE) == 0


def test_a_worker_waits_for_a_database_that_is_away(box: Database, start: Start, tmp_path: Path) -> None:
    """case 92: the box starts while the database is down, and works when it is back, without a restart."""
    port = free_port()
    there = conninfo_to_dict(box.url)
    process, printed = start(f"postgresql://{there['user']}@127.0.0.1:{port}/{there['dbname']}")
    says(printed, "waiting: the box's database does not answer")
    # The way to the server opens: a relay from that port to its socket.
    relay = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("relay.py")), str(port), f"{there['host']}/.s.PGSQL.5432"]
    )
    try:
        says(printed, "is ready")
        assert names_of(box) == ["voice-calls"]
        assert printed.read_text().count("waiting:") == 1
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        relay.kill()
        relay.wait()


def test_a_worker_keeps_ended_slots_as_long_as_it_is_told(box: Database, clock: Clock, start: Start) -> None:
    """worker: slots that ended STACKBONE_RETENTION_DAYS ago are deleted, later ones are kept."""
    process, printed = start(box.url, STACKBONE_RETENTION_DAYS="2")
    says(printed, "is ready")
    old = engine.request("voice-calls", key="old")
    engine.release(str(old.slot_id), actor=engine.Actor(name="test", source="cli"))
    clock.advance(3 * 86_400_000)
    new = engine.request("voice-calls", key="new")
    engine.release(str(new.slot_id), actor=engine.Actor(name="test", source="cli"))
    # One that expires calls for a pass now.
    engine.request("voice-calls", key="due")
    clock.advance(3_600_000)
    eventually(lambda: queries.slot(str(old.slot_id)) is None, why="the old slot is still there")
    assert queries.slot(str(new.slot_id)) is not None
    process.terminate()
    assert process.wait(PATIENCE) == 0


def test_a_database_without_tables_is_reported(server: object, box: Database, start: Start) -> None:
    """worker: before the first migrate it says what to do and ends with exit code 1."""
    url = box.url.replace("test_box", "test_worker_empty")
    with psycopg.connect(box.url.replace("test_box", "postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS test_worker_empty")
        connection.execute("CREATE DATABASE test_worker_empty")
        process, printed = start(url)
        assert process.wait(PATIENCE) == 1
        connection.execute("DROP DATABASE test_worker_empty WITH (FORCE)")
    assert "stackbone migrate" in printed.read_text()
    assert "Traceback" not in printed.read_text()


def test_two_workers_side_by_side_settle_everything_once(box: Database, clock: Clock, start: Start) -> None:
    """case 25: two sweeps at once: one ending for each slot, one grant for each freed place."""
    both = [start(box.url), start(box.url)]
    for _, printed in both:
        says(printed, "is ready")
    slots = [engine.request("voice-calls", key=str(n)) for n in range(4)]
    clock.advance(45 * 60_000)
    eventually(lambda: [s.state for s in map(_row, slots)] == ["expired"] * 2 + ["reserved"] * 2, why="not settled")
    assert engine.check() == []
    for process, _ in both:
        process.terminate()
        assert process.wait(PATIENCE) == 0
    told = "".join(printed.read_text() for _, printed in both)
    assert told.count("expired") == 1


def test_a_pass_under_way_ends_before_the_worker_stops(box: Database, clock: Clock, start: Start) -> None:
    """worker: what is short comes to its end at SIGTERM, and what a pass has done is told."""
    process, printed = start(box.url)
    says(printed, "is ready")
    slot = engine.request("voice-calls", key="due")
    with held(box, "voice-calls"):
        clock.advance(45 * 60_000)
        see_waiting(box, "stackbone worker")
        process.terminate()
        says(printed, "SIGTERM: stopping")
    assert process.wait(PATIENCE) == 0
    assert _row(slot).state == "expired"
    assert "swept: 1 expired" in printed.read_text()


def _row(slot: engine.Asked) -> queries.SlotRow:
    found = queries.slot(str(slot.slot_id))
    assert found is not None
    return found
