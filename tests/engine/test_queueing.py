"""The queue: its order, its deadlines, and the two minutes of a reservation."""

from collections.abc import Callable

import pytest

from limits import engine, pool, queries
from limits.rules import DAY, HOUR, MINUTE, SECOND
from tests.conftest import Clock
from tests.engine.steps import OPERATOR, ask, confirm, counts, hold, ids, release, row, state, wait

type Declare = Callable[..., engine.Synced]


def test_first_come_first_served(declare: Declare) -> None:
    """Q1: the grants follow the order of the requests."""
    declare(a=(1, HOUR))
    held = hold("a")
    waiting = [wait("a") for _ in range(20)]
    assert ids("a", "waiting") == waiting
    for expected in waiting:
        assert release(held).granted == 1
        assert ids("a", "reserved") == [expected]
        assert confirm(expected) == "busy"
        held = expected


def test_requests_of_one_transaction_have_one_order_everywhere(declare: Declare, box: pool.Database) -> None:
    """Q1, case 18: 50 requests in one transaction; every list and the grants agree, across page borders too."""
    declare(a=(1, HOUR))
    held = hold("a")
    with box.connection() as connection, connection.transaction():
        asked = [
            connection.execute(
                "SELECT slot_id::text, position FROM limits.request('a', %s, NULL, %s, NULL, NULL, NULL)",
                (f"bulk-{n}", DAY),
            ).fetchone()
            for n in range(50)
        ]
    order = [a["slot_id"] for a in asked if a is not None]
    assert [a["position"] for a in asked if a is not None] == list(range(1, 51))
    for count in (1, 7, 50, 100):
        assert _paged("a", count) == [(slot, n) for n, slot in enumerate(order, 1)]
    for expected in order:
        release(held)
        assert ids("a", "reserved") == [expected]
        confirm(expected)
        held = expected


def _paged(limit: str, count: int) -> list[tuple[str, int | None]]:
    found: list[tuple[str, int | None]] = []
    after = None
    while True:
        page = queries.slots(limit, state="waiting", after=after, count=count)
        found += [(slot.id, slot.position) for slot in page.items]
        if page.next is None:
            return found
        after = page.next


def test_a_wait_ends_when_its_timeout_passes(declare: Declare, clock: Clock) -> None:
    """Q4: not a moment before; whoever asked finds it timed out, with nothing left."""
    declare(a=(1, DAY))
    hold("a")
    short, long = wait("a", timeout=3 * MINUTE), wait("a", timeout=HOUR)
    clock.advance(3 * MINUTE - 30 * SECOND)
    assert not engine.sweep()
    clock.advance(30 * SECOND)
    assert engine.sweep() == engine.Swept(timed_out=1)
    assert (state(short), state(long)) == ("timed_out", "waiting")
    answer = engine.confirm(short)
    assert (answer.state, answer.wait_left) == ("timed_out", 0)
    assert queries.slots("a", state="waiting").items[0].position == 1


def test_a_waiter_is_not_granted_a_slot_after_its_deadline(declare: Declare, clock: Clock) -> None:
    """Q4, case 20: nobody swept, and the holder's release comes late: the next one gets the slot."""
    declare(a=(1, DAY))
    held = hold("a")
    overdue, fresh = wait("a", timeout=3 * MINUTE), wait("a", timeout=HOUR)
    clock.advance(4 * MINUTE)
    assert release(held).granted == 1
    assert (state(overdue), state(fresh)) == ("timed_out", "reserved")


def test_a_grant_before_the_deadline_wins(declare: Declare, clock: Clock) -> None:
    """Q4: confirmed after the deadline, but granted before it."""
    declare(a=(1, DAY))
    held = hold("a")
    waiting = wait("a", timeout=3 * MINUTE)
    clock.advance(2 * MINUTE)
    release(held)
    clock.advance(90 * SECOND)
    assert not engine.sweep()
    assert confirm(waiting) == "busy"


def test_a_grant_reserves_for_two_minutes(declare: Declare, clock: Clock) -> None:
    """Q6: confirmed in time it is busy, and its max hold counts from the grant."""
    declare(a=(1, HOUR))
    held = hold("a")
    waiting = wait("a")
    release(held)
    reserved = row(waiting)
    assert reserved.granted_at is not None
    assert reserved.reserved_until is not None
    assert reserved.expires_at is not None
    assert (reserved.reserved_until - reserved.granted_at).total_seconds() == 120
    assert (reserved.expires_at - reserved.granted_at).total_seconds() == 3_600
    clock.advance(2 * MINUTE - 30 * SECOND)
    assert confirm(waiting) == "busy"
    busy = row(waiting)
    assert (busy.granted_at, busy.expires_at, busy.reserved_until) == (reserved.granted_at, reserved.expires_at, None)
    assert busy.confirmed_at is not None
    assert busy.confirmed_at > reserved.granted_at


def test_a_reservation_lasts_no_longer_than_the_max_hold(declare: Declare, clock: Clock) -> None:
    """Q6: reserved until it would expire anyway."""
    declare(a=(1, 30 * SECOND))
    held = hold("a")
    first, second = wait("a"), wait("a")
    release(held)
    reserved = row(first)
    assert reserved.reserved_until == reserved.expires_at
    clock.advance(30 * SECOND)
    assert engine.sweep() == engine.Swept(lapsed=1, granted=1)
    assert (state(first), state(second)) == ("waiting", "reserved")


def test_a_late_run_moves_to_the_end_of_the_queue(declare: Declare, clock: Clock) -> None:
    """Q6: the slot goes to the next, the late run keeps its deadline, and gets a new expiry with its next grant."""
    declare(a=(1, HOUR))
    held = hold("a")
    late, second, third = wait("a"), wait("a"), wait("a")
    asked = row(late)
    release(held)
    clock.advance(2 * MINUTE)
    assert engine.sweep() == engine.Swept(lapsed=1, granted=1)
    assert ids("a", "reserved") == [second]
    assert ids("a", "waiting") == [third, late]
    lapsed = row(late)
    assert (lapsed.granted_at, lapsed.reserved_until, lapsed.expires_at) == (None, None, None)
    assert (lapsed.times_out_at, lapsed.asked_at, lapsed.missed) == (asked.times_out_at, asked.asked_at, 1)
    assert confirm(late) == "waiting"
    for slot in (second, third):
        assert confirm(slot) == "busy"
        release(slot)
    again = row(late)
    assert again.state == "reserved"
    assert again.expires_at is not None
    assert again.granted_at is not None
    assert (again.expires_at - again.granted_at).total_seconds() == 3_600
    assert confirm(late) == "busy"


def test_a_late_run_without_time_left_times_out(declare: Declare, clock: Clock) -> None:
    """Q6: the deadline set at the request never moves."""
    declare(a=(1, HOUR))
    held = hold("a")
    late, second = wait("a", timeout=MINUTE), wait("a")
    release(held)
    clock.advance(2 * MINUTE)
    assert engine.sweep() == engine.Swept(timed_out=1, granted=1)
    assert (state(late), state(second)) == ("timed_out", "reserved")
    assert row(late).missed == 1


def test_a_late_run_that_comes_back_alone_gets_the_slot_after_all(declare: Declare, clock: Clock) -> None:
    """Q6: nobody else waits, so its confirmation finds it granted anew."""
    declare(a=(1, HOUR))
    held = hold("a")
    late = wait("a")
    release(held)
    before = row(late).expires_at
    clock.advance(5 * MINUTE)
    assert confirm(late) == "busy"
    after = row(late)
    assert after.missed == 1
    assert before is not None
    assert after.expires_at is not None
    assert after.expires_at > before


def test_a_confirmation_comes_too_late_only_after_the_last_moment(declare: Declare, clock: Clock) -> None:
    """Q6: nobody has swept, but the two minutes are over: the next one has the slot, also at once."""
    declare(a=(1, HOUR))
    held = hold("a")
    late, second = wait("a"), wait("a")
    release(held)
    clock.advance(2 * MINUTE)
    assert confirm(late) == "waiting"
    assert state(second) == "reserved"


def test_several_late_runs_keep_their_order_among_themselves(declare: Declare, clock: Clock) -> None:
    """Q6, Q1: behind those who were there already."""
    declare(a=(3, HOUR))
    held = [hold("a") for _ in range(3)]
    late = [wait("a") for _ in range(3)]
    for slot in held:
        release(slot)
    behind = wait("a")
    clock.advance(2 * MINUTE)
    assert engine.sweep() == engine.Swept(lapsed=3, granted=3)
    assert ids("a", "reserved") == [behind, late[0], late[1]]
    assert ids("a", "waiting") == [late[2]]


def test_a_run_may_miss_its_turn_for_months(declare: Declare, clock: Clock, box: pool.Database) -> None:
    """Q6: however often a reservation lapsed, the next lapse is settled like the first."""
    declare(a=(1, HOUR))
    held = hold("a")
    late = wait("a", timeout=365 * DAY)
    box.fetch("UPDATE limits.slot SET missed = 32767 WHERE id = %s RETURNING id", [late])
    release(held)
    clock.advance(2 * MINUTE)
    assert engine.sweep() == engine.Swept(lapsed=1, granted=1)
    assert row(late).missed == 32767


def test_a_dead_head_of_the_queue_holds_up_nobody_for_long(declare: Declare, clock: Clock) -> None:
    """Q6, case 19: two dead runs cost their two minutes each and come back only at the end."""
    declare(a=(1, HOUR))
    held = hold("a")
    dead = [wait("a"), wait("a")]
    alive = wait("a")
    release(held)
    for _ in dead:
        clock.advance(2 * MINUTE)
        engine.sweep()
    assert confirm(alive) == "busy"
    assert ids("a", "waiting") == dead
    assert [row(slot).missed for slot in dead] == [1, 1]


@pytest.mark.parametrize("when", ["waiting", "reserved"])
def test_whoever_leaves_the_queue_passes_the_slot_on(declare: Declare, when: str) -> None:
    """F5, case 6: at once, without waiting for the two minutes; a late confirmation gets nothing."""
    declare(a=(1, HOUR))
    held = hold("a")
    first, second = wait("a"), wait("a")
    if when == "reserved":
        release(held)
    assert engine.withdraw(first, actor=OPERATOR, reason="cancelled")
    if when == "waiting":
        release(held)
    assert state(second) == "reserved"
    assert confirm(first) == "withdrawn"
    assert not engine.withdraw(first, actor=OPERATOR)
    left = row(first)
    assert (left.ended_by, left.end_reason, left.granted_at, left.expires_at) == ("ana", "cancelled", None, None)


def test_a_long_queue_that_is_withdrawn_leaves_nothing_behind(declare: Declare) -> None:
    """F5, case 21: 100 leave, none ever gets a slot, and a new run is first."""
    declare(a=(3, HOUR))
    held = [hold("a") for _ in range(3)]
    gone = [wait("a") for _ in range(100)]
    assert all(engine.withdraw(slot, actor=OPERATOR) for slot in gone)
    assert counts("a") == (3, 0, 0)
    new = ask("a")
    assert new.position == 1
    release(held[0])
    assert ids("a", "reserved") == [new.slot_id]
    assert {confirm(slot) for slot in gone} == {"withdrawn"}


def test_a_run_that_waits_for_the_slot_it_holds_times_out_and_keeps_it(declare: Declare, clock: Clock) -> None:
    """Q4, case 11: a second call of the same run is a call like any other: no hang, no second holder."""
    declare(a=(1, HOUR))
    held = hold("a", run_id="run-1")
    again = wait("a", run_id="run-1", timeout=5 * SECOND)
    clock.advance(5 * SECOND)
    assert confirm(again) == "timed_out"
    assert state(held) == "busy"
    assert release(held).released
    assert counts("a") == (0, 0, 0)
