"""Plain clients that vanish, and those that only stand still."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from limits import engine, housekeeping, pool
from limits.errors import ProcessGoneError
from limits.rules import HOUR, MINUTE
from tests.aging import let_gone_vanish, let_server_age
from tests.conftest import Clock
from tests.engine.steps import ask, confirm, hold, ids, release, row, state, wait

type Declare = Callable[..., engine.Synced]


@contextmanager
def client(box: pool.Database) -> Iterator[int]:
    """A client of the box, alive inside."""
    session = box.connect()
    process = engine.join("client", name="program")
    session.execute("SELECT pg_advisory_lock(%s, %s)", (engine.PROCESS_LOCK_CLASS, process))
    yield process
    session.close()


def seen_gone(box: pool.Database, process: int) -> bool:
    engine.sweep()
    [found] = box.fetch("SELECT gone_since IS NOT NULL AS gone FROM limits.worker WHERE id = %s", [process])
    return bool(found["gone"])


def let_20_seconds_pass(box: pool.Database) -> None:
    let_gone_vanish(box)


@pytest.fixture
def gone(declare: Declare, box: pool.Database) -> int:
    """Leave behind a client that waits, and was seen gone a moment ago."""
    let_server_age(box)
    declare(a=(1, HOUR), b=(1, HOUR))
    with client(box) as process:
        hold("a", key="held by another")
        hold("b", worker_id=process)
        wait("a", key="gone", worker_id=process)
    while not seen_gone(box, process):
        pass
    return process


def test_a_vanished_client_leaves_the_queue_after_20_seconds(declare: Declare, box: pool.Database) -> None:
    """Q7: measured in real time, not a moment sooner; the slot goes to the next."""
    declare(a=(1, HOUR))
    held = hold("a")
    with client(box) as process:
        first, second = wait("a", worker_id=process), wait("a")
        assert not seen_gone(box, process)
    while not seen_gone(box, process):
        pass
    since = time.monotonic()
    release(held)
    assert state(first) == "reserved"
    while state(first) != "withdrawn":
        assert time.monotonic() - since < 40
        due = engine.next_wake()
        assert due is not None
        time.sleep(min(due, 1_000) / 1_000)
        engine.sweep()
    assert time.monotonic() - since > 19.5
    assert row(first).end_reason == "the client that asked is gone"
    assert confirm(second) == "busy"


def test_what_a_vanished_client_holds_stays_until_max_hold(gone: int, clock: Clock, box: pool.Database) -> None:
    """Q7, F7: its work may still go on."""
    let_20_seconds_pass(box)
    assert engine.sweep().withdrawn == 1
    assert len(ids("b", "busy")) == 1
    clock.advance(HOUR)
    assert engine.sweep().expired == 2


def test_a_client_that_comes_back_within_20_seconds_keeps_its_place(gone: int, box: pool.Database) -> None:
    """Q7: its session was lost, and made anew."""
    session = box.connect()
    session.execute("SELECT pg_advisory_lock(%s, %s)", (engine.PROCESS_LOCK_CLASS, gone))
    assert not seen_gone(box, gone)
    let_20_seconds_pass(box)
    assert not engine.sweep()
    assert len(ids("a", "waiting")) == 1
    session.close()


def test_a_client_that_was_given_up_joins_anew(gone: int, box: pool.Database) -> None:
    """Q7: it asks again, at the end; its old identity is refused and never comes back."""
    behind = wait("a")
    let_20_seconds_pass(box)
    engine.sweep()
    assert ids("a", "waiting") == [behind]
    with pytest.raises(ProcessGoneError):
        ask("a", key="gone", worker_id=gone)
    with client(box) as process:
        assert process != gone
        again = wait("a", key="gone", worker_id=process)
        assert ids("a", "waiting") == [behind, again]


def test_a_free_slot_is_given_to_a_client_whose_identity_ended(gone: int, box: pool.Database) -> None:
    """Q7: only who waits has to be alive."""
    let_20_seconds_pass(box)
    engine.sweep()
    release(ids("a", "busy")[0])
    assert ask("a", worker_id=gone).state == "busy"


def test_a_call_delivered_to_another_process_waits_there(gone: int, box: pool.Database) -> None:
    """Q7, A5: the first process's end does not take the second one's place away."""
    with client(box) as second:
        place = ask("a", key="gone", worker_id=second)
        assert place.state == "waiting"
        let_20_seconds_pass(box)
        engine.sweep()
        assert ids("a", "waiting") == [place.slot_id]


def test_a_frozen_client_keeps_its_place_and_only_misses_its_turn(
    declare: Declare, box: pool.Database, clock: Clock
) -> None:
    """Q7, Q6: its session lives, however long it says nothing."""
    declare(a=(1, HOUR))
    held = hold("a")
    with client(box) as process:
        frozen, second = wait("a", worker_id=process), wait("a")
        release(held)
        clock.advance(2 * MINUTE)
        assert engine.sweep() == engine.Swept(lapsed=1, granted=1)
        assert (state(frozen), state(second)) == ("waiting", "reserved")


def test_one_process_is_not_taken_for_another(declare: Declare, box: pool.Database) -> None:
    """Q7: locks of another class, or of another database, prove nothing."""
    declare(a=(1, HOUR))
    hold("a")
    with client(box) as process:
        waiting = wait("a", worker_id=process)
    session = box.connect()
    session.execute("SELECT pg_advisory_lock(1, %s), pg_advisory_lock(%s)", (process, process))
    elsewhere = pool.Database(box.url.replace("/test_box?", "/postgres?")).connect()
    elsewhere.execute("SELECT pg_advisory_lock(%s, %s)", (engine.PROCESS_LOCK_CLASS, process))
    while not seen_gone(box, process):
        pass
    let_20_seconds_pass(box)
    assert engine.sweep().withdrawn == 1
    assert state(waiting) == "withdrawn"
    session.close()
    elsewhere.close()


def test_many_vanished_places_go_in_several_batches(
    declare: Declare, box: pool.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q7, F8: all in one pass."""
    monkeypatch.setattr(housekeeping, "_SWEEP_BATCH", 3)
    declare(a=(1, HOUR), b=(1, HOUR))
    hold("a"), hold("b")
    with client(box) as process:
        for limit in "aabaabaaba":
            wait(limit, worker_id=process)
    while not seen_gone(box, process):
        pass
    let_20_seconds_pass(box)
    assert engine.sweep() == engine.Swept(withdrawn=10)
    assert engine.next_wake() is not None
    assert box.fetch("SELECT ended_at IS NOT NULL AS ended FROM limits.worker") == [{"ended": True}]


def test_the_time_in_which_the_server_was_away_does_not_count(declare: Declare, box: pool.Database) -> None:
    """Q7, Q2: gone before an outage and not seen since, a client has 20 seconds from the server's start to come back."""
    declare(a=(1, HOUR))
    hold("a")
    gone = engine.join("client", name="gone")
    waiting = wait("a", worker_id=gone)
    engine.sweep()
    let_gone_vanish(box)
    with box.connection() as connection:
        # Found first on the path below, it says that the server came up as the question was asked.
        connection.execute(
            "CREATE FUNCTION limits.pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS $$ SELECT now() $$"
        )
    try:
        restarted = pool.Database(f"{box.url}&options=-c%20search_path%3Dlimits,pg_catalog", size=1)
        assert engine.sweep(db=restarted) == engine.Swept()
        assert state(waiting) == "waiting"
        assert 19_000 < (engine.next_wake(db=restarted) or 0) <= 20_000
        restarted.close()
    finally:
        with box.connection() as connection:
            connection.execute("DROP FUNCTION limits.pg_postmaster_start_time()")
    assert engine.sweep() == engine.Swept(withdrawn=1)
