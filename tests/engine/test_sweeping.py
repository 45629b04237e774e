"""The background pass, and the one clock."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from limits import engine, housekeeping, pool
from limits.errors import BoxBusyError
from limits.rules import DAY, HOUR, MINUTE, SECOND
from tests.aging import let_gone_vanish
from tests.conftest import Clock
from tests.engine.steps import CLIENT, OPERATOR, ask, confirm, counts, hold, ids, release, row, state, wait

type Declare = Callable[..., engine.Synced]


@contextmanager
def failing(box: pool.Database, condition: str) -> Iterator[None]:
    """Let every update of a slot fail that meets the condition on OLD and NEW."""
    with box.connection() as connection:
        connection.execute(
            "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'this one fails'; END $$"
        )
        connection.execute(
            f"CREATE TRIGGER fail BEFORE UPDATE ON limits.slot FOR EACH ROW WHEN ({condition})"
            " EXECUTE FUNCTION public.fail()"
        )
    try:
        yield
    finally:
        with box.connection() as connection:
            connection.execute("DROP FUNCTION public.fail CASCADE")


def test_one_pass_settles_everything_that_is_due(declare: Declare, clock: Clock) -> None:
    """F8: expiries, lapses and timeouts of every limit; the next pass has nothing left."""
    declare(a=(1, HOUR), b=(1, HOUR), c=(1, 2 * HOUR))
    hold("a"), wait("a")
    release_b = hold("b")
    wait("b"), wait("b")
    hold("c"), wait("c", timeout=MINUTE)
    clock.advance(HOUR - MINUTE)
    release(release_b)
    clock.advance(2 * MINUTE)
    assert engine.sweep() == engine.Swept(expired=1, lapsed=1, timed_out=1, granted=2)
    assert not engine.sweep()


def test_a_pass_works_in_batches_until_nothing_is_left(
    declare: Declare, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: more is due than fits one batch."""
    monkeypatch.setattr(housekeeping, "_SWEEP_BATCH", 4)
    declare(a=(30, HOUR))
    for _ in range(30):
        hold("a")
    waiting = [wait("a") for _ in range(10)]
    clock.advance(HOUR)
    assert engine.sweep() == engine.Swept(expired=30, granted=10)
    assert ids("a", "reserved") == waiting


def test_a_backlog_beyond_one_batch_never_reaches_a_waiter_too_late(
    declare: Declare, clock: Clock, box: pool.Database
) -> None:
    """F8, Q4: one release settles 500; those of whom it does not get to are still not granted after their deadline."""
    declare(a=(1, 30 * DAY))
    held = hold("a")
    box.fetch("SELECT limits.request('a', 'k' || n, NULL, 60000, NULL, NULL, NULL) FROM generate_series(1, 1200) n")
    fresh = wait("a")
    clock.advance(MINUTE)
    assert release(held).granted == 1
    assert ids("a", "reserved") == [fresh]
    assert engine.sweep().timed_out == 0
    assert counts("a") == (0, 1, 0)


def test_nothing_that_falls_due_later_is_forgotten_after_a_full_batch(
    declare: Declare, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: the bound of what is due next is right at each batch's end."""
    monkeypatch.setattr(housekeeping, "_SWEEP_BATCH", 2)
    declare(a=(6, HOUR))
    for _ in range(6):
        hold("a")
        clock.advance(MINUTE)
    for _ in range(6):
        due = engine.next_wake()
        assert due is not None
        clock.advance(due)
        assert engine.sweep().expired == 1
    assert engine.next_wake() is None


def test_the_next_due_time_is_known_by_a_look(declare: Declare, clock: Clock) -> None:
    """F8: the earliest over all limits, whatever makes it due; none when nothing ever will be."""
    declare(a=(1, HOUR), b=(1, 2 * HOUR))
    assert engine.next_wake() is None
    hold("b")
    assert _about(2 * HOUR)
    held = hold("a")
    assert _about(HOUR)
    wait("a", timeout=30 * MINUTE)
    assert _about(30 * MINUTE)
    release(held)
    assert _about(2 * MINUTE)
    clock.advance(3 * HOUR)
    assert engine.next_wake() == 0


def _about(milliseconds: int) -> bool:
    due = engine.next_wake()
    return due is not None and milliseconds - 20 * SECOND < due <= milliseconds


def test_two_sweeps_at_once_settle_each_slot_once(declare: Declare, clock: Clock) -> None:
    """F8, case 25: one end per slot, one lapse per reservation, one grant per freed slot."""
    declare(**{f"l{n}": (3, HOUR) for n in range(6)})
    databases = [pool.Database(pool.default().url, size=1) for _ in range(4)]
    late = {}
    for n in range(6):
        held = [hold(f"l{n}") for _ in range(3)]
        late[n] = [wait(f"l{n}") for _ in range(6)]
        release(held[0])
    clock.advance(2 * HOUR)
    with ThreadPoolExecutor(4) as many:
        passes = list(many.map(lambda database: engine.sweep(db=database), databases))
    for database in databases:
        database.close()
    assert sum(swept.expired for swept in passes) == 12
    assert sum(swept.lapsed for swept in passes) == 6
    assert sum(swept.granted for swept in passes) == 18
    assert [row(slot).missed for slots in late.values() for slot in slots] == [1, 0, 0, 0, 0, 0] * 6
    assert all(counts(f"l{n}") == (0, 3, 3) for n in range(6))


def test_what_fell_due_while_everything_was_down_is_settled_by_the_first_pass(declare: Declare, clock: Clock) -> None:
    """F8, case 26: expired slots come back, waiters are served, and a late release is answered."""
    declare(a=(3, HOUR))
    old = [hold("a"), hold("a")]
    clock.advance(30 * MINUTE)
    hold("a")
    waiting = [wait("a") for _ in range(3)]
    clock.advance(31 * MINUTE)
    assert engine.sweep() == engine.Swept(expired=2, granted=2)
    assert ids("a", "reserved") == waiting[:2]
    assert [release(slot).released for slot in old] == [False, False]


def test_a_slot_that_cannot_be_settled_holds_up_no_other(
    declare: Declare, clock: Clock, box: pool.Database, caplog: pytest.LogCaptureFixture
) -> None:
    """F8: it is logged and passed over, tried again 15 seconds later, and settled once it can be."""
    declare(a=(3, HOUR), b=(1, HOUR))
    bad = hold("a", label="bad")
    hold("a"), hold("a"), hold("b")
    waiting = [wait("a") for _ in range(3)]
    clock.advance(HOUR)
    with failing(box, "OLD.label = 'bad' AND NEW.state = 'expired'"):
        assert engine.sweep() == engine.Swept(expired=3, granted=2)
        assert bad in caplog.text
        assert "this one fails" in caplog.text
        assert state(bad) == "busy"
        assert ids("a", "reserved") == waiting[:2]
        assert not engine.sweep()
        assert _about(15 * SECOND) or 0 < (engine.next_wake() or 0) <= 15 * SECOND
    clock.advance(15 * SECOND)
    assert engine.sweep() == engine.Swept(expired=1, granted=1)
    assert state(bad) == "expired"


def test_slots_that_cannot_be_settled_do_not_stretch_a_backlog(
    declare: Declare, clock: Clock, box: pool.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: with one bad slot among more than a batch, the same pass settles all the others."""
    monkeypatch.setattr(housekeeping, "_SWEEP_BATCH", 5)
    declare(a=(20, HOUR))
    hold("a", label="bad")
    for _ in range(19):
        hold("a")
    clock.advance(HOUR)
    with failing(box, "OLD.label = 'bad' AND NEW.state = 'expired'"):
        assert engine.sweep().expired == 19
    clock.advance(15 * SECOND)
    assert engine.sweep().expired == 1
    assert engine.next_wake() is None


def test_a_backlog_of_slots_that_failed_is_settled_to_the_last(
    declare: Declare, clock: Clock, box: pool.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: they lie before the limit's bound, in more than one batch, and none is forgotten."""
    monkeypatch.setattr(housekeeping, "_SWEEP_BATCH", 5)
    declare(a=(20, HOUR))
    for _ in range(20):
        hold("a")
    clock.advance(HOUR)
    with failing(box, "NEW.state = 'expired'"):
        assert engine.sweep().expired == 0
    clock.advance(15 * SECOND)
    assert engine.sweep().expired == 20


def test_a_limit_that_somebody_keeps_locked_holds_up_no_other(
    declare: Declare, clock: Clock, box: pool.Database, caplog: pytest.LogCaptureFixture
) -> None:
    """F8, case 94: nothing of it changes, the pass goes on after a bounded wait, and what is due comes later."""
    declare(a=(1, HOUR), b=(1, HOUR))
    hold("a"), hold("b")
    wait("a"), wait("b")
    clock.advance(HOUR)
    with box.connection() as somebody, somebody.transaction():
        somebody.execute("SELECT limits.lock_limit(id) FROM limits.limit WHERE name = 'a'")
        assert engine.sweep() == engine.Swept(expired=1, granted=1)
    assert "another session keeps the limit locked" in caplog.text
    assert counts("a") == (1, 0, 1)
    assert engine.sweep() == engine.Swept(expired=1, granted=1)


def test_a_waiter_that_cannot_be_granted_holds_up_no_other(
    declare: Declare, box: pool.Database, caplog: pytest.LogCaptureFixture
) -> None:
    """F8: passed over with a warning, so that its limit's slots are still given back; first in turn once it can be."""
    declare(a=(1, HOUR))
    held = hold("a")
    bad, *others = [wait("a", label=label) for label in ("bad", "next", "last")]
    with failing(box, "OLD.label = 'bad'"):
        assert engine.release(held, actor=OPERATOR).granted == 1
        assert bad in caplog.text
        assert "this one fails" in caplog.text
        assert (ids("a", "reserved"), ids("a", "waiting")) == ([others[0]], [bad, others[1]])
        assert confirm(others[0]) == "busy"
    release(others[0])
    assert ids("a", "reserved") == [bad]


def test_a_waiter_whose_row_is_locked_is_not_overtaken(declare: Declare, box: pool.Database) -> None:
    """Q1, case 94: the release waits a bounded time and changes nothing; made again, it serves the head."""
    declare(a=(1, HOUR))
    held = hold("a")
    waiting = [wait("a"), wait("a")]
    with box.connection() as somebody, somebody.transaction():
        somebody.execute("SELECT FROM limits.slot WHERE id = %s FOR UPDATE", [waiting[0]])
        with pytest.raises(BoxBusyError):
            engine.release(held, actor=OPERATOR)
    assert state(held) == "busy"
    assert engine.release(held, actor=OPERATOR).granted == 1
    assert ids("a", "reserved") == waiting[:1]


def test_a_vanished_place_that_cannot_be_withdrawn_holds_up_no_other(declare: Declare, box: pool.Database) -> None:
    """F8, Q7: passed over like any other row, and withdrawn by a later pass."""
    declare(a=(1, HOUR))
    hold("a")
    gone = engine.join("client", name="gone")
    bad, good = wait("a", label="bad", worker_id=gone), wait("a", worker_id=gone)
    engine.sweep()
    let_gone_vanish(box)
    with failing(box, "OLD.label = 'bad'"):
        assert engine.sweep() == engine.Swept(withdrawn=1)
    assert (state(bad), state(good)) == ("waiting", "withdrawn")
    assert engine.sweep() == engine.Swept(withdrawn=1)


def test_a_pass_repairs_a_free_slot_beside_a_waiter_whatever_left_it_there(
    declare: Declare, box: pool.Database
) -> None:
    """F8, case 7: nothing is due and nobody is gone; a paused limit stays paused."""
    declare(a=(1, HOUR), b=(1, HOUR))
    hold("a"), hold("b")
    waiting = [wait("a"), wait("a"), wait("b")]
    engine.pause("b", actor=OPERATOR)
    box.fetch("UPDATE limits.limit SET capacity = 2, declared_capacity = 2 RETURNING id")
    assert engine.sweep() == engine.Swept(granted=1)
    assert [state(slot) for slot in waiting] == ["reserved", "waiting", "waiting"]


def test_time_is_the_databases_whatever_the_programs_say(declare: Declare, clock: Clock) -> None:
    """F9, case 27: two programs with clocks of their own; neither's counts."""
    declare(a=(1, 2 * MINUTE))
    skewed = pool.Database(pool.default().url + "&options=-c%20timezone%3DPacific/Auckland", size=1)
    slot = hold("a", db=skewed)
    waiting = wait("a", timeout=3 * MINUTE, db=skewed)
    skewed.close()
    found = row(slot)
    assert found.granted_at is not None
    assert found.expires_at is not None
    assert (found.expires_at - found.granted_at).total_seconds() == 120
    clock.advance(2 * MINUTE - 20 * SECOND)
    assert not engine.sweep()
    clock.advance(20 * SECOND)
    assert engine.sweep() == engine.Swept(expired=1, granted=1)
    assert confirm(waiting) == "busy"


@pytest.mark.parametrize("zone", ["Europe/Madrid", "America/Sao_Paulo", "Pacific/Apia"])
def test_a_day_has_24_hours_in_every_time_zone(declare: Declare, zone: str) -> None:
    """F9: over changes of daylight saving too; a month of max hold spans at least one somewhere in a year."""
    declare(a=(1, 30 * DAY), b=(1, HOUR))
    database = pool.Database(pool.default().url + f"&options=-c%20timezone%3D{zone}", size=1)
    hold("b")
    held, waiting = row(hold("a", db=database)), row(wait("b", timeout=365 * DAY, db=database))
    database.close()
    assert held.granted_at is not None
    assert held.expires_at is not None
    assert waiting.times_out_at is not None
    assert (held.expires_at - held.granted_at).total_seconds() == 30 * 86_400
    assert (waiting.times_out_at - waiting.asked_at).total_seconds() == 365 * 86_400


def test_a_clock_that_was_set_back_stops_nobody(declare: Declare, clock: Clock) -> None:
    """F9: time that ran backwards may prolong what is held, but every operation works."""
    declare(a=(1, HOUR))
    held, waiting = hold("a"), wait("a")
    other = wait("a")
    release(held)
    clock.advance(-10 * MINUTE)
    assert confirm(waiting) == "busy"
    assert release(waiting).granted == 1
    assert engine.withdraw(other, actor=CLIENT)
    assert engine.edit("a", actor=OPERATOR, capacity=2).changed
    assert ask("a").state == "busy"
    assert not engine.sweep()


def test_a_pass_survives_the_loss_of_every_connection(declare: Declare, clock: Clock, box: pool.Database) -> None:
    """F8, case 28: all sessions are ended on the server; the next pass works without a restart."""
    declare(a=(1, HOUR))
    hold("a")
    engine.sweep()
    killer = box.connect()
    killer.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    killer.close()
    clock.advance(HOUR)
    assert engine.sweep() == engine.Swept(expired=1)


def test_the_box_knows_when_it_was_last_swept(declare: Declare, box: pool.Database) -> None:
    """F8: its instant is the database's."""
    declare(a=(1, HOUR))
    assert box.fetch("SELECT swept_at FROM limits.box") == [{"swept_at": None}]
    engine.sweep()
    [found] = box.fetch("SELECT clock_timestamp() - swept_at < interval '5 seconds' AS just_now FROM limits.box")
    assert found["just_now"]


def test_sweeps_run_beside_every_other_operation(declare: Declare, clock: Clock) -> None:
    """F8: a pass that waits for one limit's lock has the others done, and goes on when it is let in."""
    declare(a=(1, HOUR), b=(1, HOUR))
    hold("a"), hold("b")
    clock.advance(HOUR)
    database = pool.Database(pool.default().url, size=1)
    done = threading.Event()
    with pool.default().connection() as connection, connection.transaction():
        connection.execute("SELECT limits.lock_limit(id) FROM limits.limit WHERE name = 'b'")
        thread = threading.Thread(target=lambda: (engine.sweep(db=database), done.set()))
        thread.start()
        while state(ids("b", "busy")[0]) == "busy" and counts("a") != (0, 0, 0):
            pass
        assert not done.is_set()
    thread.join(10)
    database.close()
    assert done.is_set()
    assert counts("b") == (0, 0, 0)
