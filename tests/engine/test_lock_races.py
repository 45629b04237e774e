"""Two operations at the same moment, in both orders. Each sees the other's result, or none of it."""

from collections.abc import Callable
from typing import Any

import pytest

from limits import engine, pool, queries
from limits.errors import ChangedMeanwhileError, ProcessGoneError, UnknownLimitError
from limits.rules import DAY, HOUR, MINUTE
from tests.aging import let_server_age
from tests.conftest import Clock
from tests.engine.locks import Contender, race, see_waiting
from tests.engine.steps import CLIENT, OPERATOR, ask, confirm, counts, hold, ids, release, row, state, wait

type Declare = Callable[..., engine.Synced]
type Call = Callable[[pool.Database], Any]

BOTH_ORDERS = pytest.mark.parametrize("swapped", [False, True], ids=["in order", "swapped"])


def in_either_order(box: pool.Database, swapped: bool, one: Call, two: Call, **more: Any) -> tuple[Any, Any]:
    """Race `one` against `two` on the limit a and return their outcomes as (one's, two's)."""
    if swapped:
        outcome_two, outcome_one = race(box, "a", two, one, **more)
    else:
        outcome_one, outcome_two = race(box, "a", one, two, **more)
    return outcome_one, outcome_two


@BOTH_ORDERS
def test_no_wake_up_is_lost_between_queueing_and_release(declare: Declare, box: pool.Database, swapped: bool) -> None:
    """F6, A2: whoever queues while the last slot is given back gets it."""
    declare(a=(1, HOUR))
    slot = hold("a")
    asked, released = in_either_order(box, swapped, lambda db: ask("a", db=db), lambda db: release(slot, db=db))
    assert released.released
    if swapped:
        assert (asked.state, released.granted) == ("busy", 0)
    else:
        assert (asked.state, released.granted) == ("waiting", 1)
        assert confirm(asked.slot_id) == "busy"
    assert counts("a") == (1, 0, 0)


@BOTH_ORDERS
def test_a_raise_and_a_release_grant_each_slot_once(declare: Declare, box: pool.Database, swapped: bool) -> None:
    """F4, F6, A3: two become free, two are granted, the first two."""
    declare(a=(1, HOUR))
    slot = hold("a")
    waiting = [wait("a") for _ in range(4)]
    edited, released = in_either_order(
        box, swapped,
        lambda db: engine.edit("a", actor=OPERATOR, capacity=2, expected_capacity=1, db=db),
        lambda db: release(slot, db=db),
    )  # fmt: skip
    assert (edited.granted, released.granted) == (1, 1)
    assert ids("a", "reserved") == waiting[:2]


@BOTH_ORDERS
def test_a_raise_and_a_request_never_leave_a_slot_free(declare: Declare, box: pool.Database, swapped: bool) -> None:
    """F4, A2."""
    declare(a=(1, HOUR))
    hold("a")
    edited, asked = in_either_order(
        box, swapped,
        lambda db: engine.edit("a", actor=OPERATOR, capacity=2, db=db),
        lambda db: ask("a", db=db),
    )  # fmt: skip
    assert (edited.granted, asked.state) == ((1, "waiting") if swapped else (0, "busy"))
    assert sum(counts("a")[:2]) == 2


@BOTH_ORDERS
def test_a_lowered_capacity_and_a_release_never_grant_beyond_it(
    declare: Declare, box: pool.Database, swapped: bool
) -> None:
    """O2, A3: whichever comes first, the grant goes by the capacity of its moment."""
    declare(a=(2, HOUR))
    held, waiting = [hold("a"), hold("a")], wait("a")
    _edited, released = in_either_order(
        box, swapped,
        lambda db: engine.edit("a", actor=OPERATOR, capacity=1, db=db),
        lambda db: release(held[0], db=db),
    )  # fmt: skip
    assert released.granted == (1 if swapped else 0)
    assert state(waiting) == ("reserved" if swapped else "waiting")


@BOTH_ORDERS
def test_a_slot_released_as_it_expires_ends_once(
    declare: Declare, box: pool.Database, clock: Clock, swapped: bool
) -> None:
    """F1, F3: its max hold passed while the release waited, so it expired; the slot is granted once."""
    declare(a=(1, HOUR))
    slot = hold("a")
    waiting = [wait("a"), wait("a")]
    clock.advance(HOUR)
    released, swept = in_either_order(box, swapped, lambda db: release(slot, db=db), lambda db: engine.sweep(db=db))
    assert (released.released, released.state) == (False, "expired")
    assert released.granted + swept.granted == 1
    assert swept.expired == (1 if swapped else 0)
    assert ids("a", "reserved") == waiting[:1]


def test_a_release_goes_by_the_time_after_its_wait(declare: Declare, box: pool.Database, clock: Clock) -> None:
    """F9, F3: the clock is read when the lock is held, not when the call began."""
    declare(a=(1, HOUR))
    slot = hold("a")
    [released] = race(box, "a", lambda db: release(slot, db=db), meanwhile=lambda: clock.advance(HOUR))
    assert (released.released, released.state) == (False, "expired")


@BOTH_ORDERS
def test_a_confirmation_as_the_reservation_lapses_is_one_of_the_two(
    declare: Declare, box: pool.Database, clock: Clock, swapped: bool
) -> None:
    """Q6: the two minutes passed while it waited for the lock: the next run has the slot, the late one the last place."""
    declare(a=(1, HOUR))
    slot, late, second = hold("a"), wait("a"), wait("a")
    release(slot)
    clock.advance(2 * MINUTE)
    confirmed, swept = in_either_order(
        box, swapped, lambda db: engine.confirm(late, db=db), lambda db: engine.sweep(db=db)
    )
    assert confirmed.state == "waiting"
    assert swept == (engine.Swept(lapsed=1, granted=1) if swapped else engine.Swept())
    assert (ids("a", "reserved"), ids("a", "waiting")) == ([second], [late])
    assert row(late).missed == 1


def test_a_confirmation_that_was_in_time_but_waited_too_long_is_late(
    declare: Declare, box: pool.Database, clock: Clock
) -> None:
    """Q6, F9."""
    declare(a=(1, HOUR))
    slot, late, second = hold("a"), wait("a"), wait("a")
    release(slot)
    [confirmed] = race(box, "a", lambda db: engine.confirm(late, db=db), meanwhile=lambda: clock.advance(2 * MINUTE))
    assert confirmed.state == "waiting"
    assert state(second) == "reserved"


@BOTH_ORDERS
def test_a_grant_as_the_wait_times_out_is_one_of_the_two(
    declare: Declare, box: pool.Database, clock: Clock, swapped: bool
) -> None:
    """Q4: after the deadline nothing is granted, though the release asked before."""
    declare(a=(1, HOUR))
    slot, late, second = hold("a"), wait("a", timeout=MINUTE), wait("a")
    clock.advance(MINUTE)
    released, swept = in_either_order(box, swapped, lambda db: release(slot, db=db), lambda db: engine.sweep(db=db))
    assert released.granted == 1
    assert swept == (engine.Swept(timed_out=1) if swapped else engine.Swept())
    assert (state(late), state(second)) == ("timed_out", "reserved")


def test_a_grant_committed_before_the_timeout_wins(declare: Declare, box: pool.Database, clock: Clock) -> None:
    """Q4: the sweep that was about to time it out finds it granted."""
    declare(a=(1, HOUR))
    slot, waiting = hold("a"), wait("a", timeout=MINUTE)
    wait("a", timeout=30_000)
    clock.advance(30_000)
    # The sweep has its list of limits already when the release is let in before it.
    released, swept, confirmed = race(
        box, "a",
        lambda db: release(slot, db=db),
        lambda db: engine.sweep(db=db),
        lambda db: engine.confirm(waiting, db=db),
    )  # fmt: skip
    assert (released.granted, swept, confirmed.state) == (1, engine.Swept(), "busy")
    clock.advance(MINUTE)
    assert not engine.sweep()
    assert state(waiting) == "busy"


@BOTH_ORDERS
def test_a_pause_and_a_release_take_effect_one_after_the_other(
    declare: Declare, box: pool.Database, swapped: bool
) -> None:
    """O6: granted before the pause, or not before the resume."""
    declare(a=(1, HOUR))
    slot, waiting = hold("a"), wait("a")
    paused, released = in_either_order(
        box, swapped, lambda db: engine.pause("a", actor=OPERATOR, db=db), lambda db: release(slot, db=db)
    )
    assert paused.changed
    assert released.granted == (1 if swapped else 0)
    assert state(waiting) == ("reserved" if swapped else "waiting")


@BOTH_ORDERS
def test_a_resume_and_a_request_never_leave_a_slot_free(declare: Declare, box: pool.Database, swapped: bool) -> None:
    """O6, F4."""
    declare(a=(1, HOUR))
    engine.pause("a", actor=OPERATOR)
    resumed, asked = in_either_order(
        box, swapped, lambda db: engine.resume("a", actor=OPERATOR, db=db), lambda db: ask("a", db=db)
    )
    assert (resumed.granted, asked.state) == ((1, "waiting") if swapped else (0, "busy"))


@BOTH_ORDERS
def test_of_two_edits_from_the_same_sight_the_second_is_told(
    declare: Declare, box: pool.Database, swapped: bool
) -> None:
    """O7: both values, and nothing of the second is taken over."""
    declare(a=(2, HOUR))
    five, nine = in_either_order(
        box, swapped,
        lambda db: engine.edit("a", actor=OPERATOR, capacity=5, expected_capacity=2, db=db),
        lambda db: engine.edit("a", actor=OPERATOR, capacity=9, expected_capacity=2, db=db),
    )  # fmt: skip
    won, lost = (nine, five) if swapped else (five, nine)
    assert won == engine.Edited(changed=True, granted=0)
    assert isinstance(lost, ChangedMeanwhileError)
    assert (lost.seen, lost.current) == (2, 9 if swapped else 5)
    assert len(queries.changes(limit="a").items) == 2


@BOTH_ORDERS
def test_an_edit_and_a_reset_from_the_same_sight_conflict(declare: Declare, box: pool.Database, swapped: bool) -> None:
    """O7."""
    declare(a=(2, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=3)
    edited, reset = in_either_order(
        box, swapped,
        lambda db: engine.edit("a", actor=OPERATOR, capacity=5, expected_capacity=3, db=db),
        lambda db: engine.reset("a", "capacity", actor=OPERATOR, expected=3, db=db),
    )  # fmt: skip
    assert isinstance(edited if swapped else reset, ChangedMeanwhileError)
    assert (reset if swapped else edited) == engine.Edited(changed=True, granted=0)


@BOTH_ORDERS
@pytest.mark.parametrize("leaving", ["withdraw", "abandon"])
def test_a_grant_to_somebody_who_leaves_goes_to_the_next(
    declare: Declare, box: pool.Database, swapped: bool, leaving: str
) -> None:
    """F5, F6."""
    declare(a=(1, HOUR))
    slot, first, second = hold("a"), wait("a", key="first"), wait("a")
    leave: Call = {
        "withdraw": lambda db: engine.withdraw(first, actor=CLIENT, db=db),
        "abandon": lambda db: engine.abandon("a", "first", actor=CLIENT, db=db),
    }[leaving]
    left, released = in_either_order(box, swapped, leave, lambda db: release(slot, db=db))
    assert left in (True, "reserved" if swapped else "waiting")
    assert released.granted == 1
    assert (state(first), state(second)) == ("withdrawn", "reserved")


@BOTH_ORDERS
def test_whoever_confirms_and_leaves_at_once_ends_up_in_one_state(
    declare: Declare, box: pool.Database, swapped: bool
) -> None:
    """F5, Q6: confirmed and kept, or withdrawn and passed on."""
    declare(a=(1, HOUR))
    slot, first, second = hold("a"), wait("a"), wait("a")
    release(slot)
    confirmed, left = in_either_order(
        box, swapped,
        lambda db: engine.confirm(first, db=db).state,
        lambda db: engine.withdraw(first, actor=CLIENT, db=db),
    )  # fmt: skip
    assert (confirmed, left) == (("withdrawn", True) if swapped else ("busy", False))
    assert state(second) == ("reserved" if swapped else "waiting")


def test_a_slot_released_by_two_is_released_once(declare: Declare, box: pool.Database) -> None:
    """F1: one freed slot, one grant."""
    declare(a=(2, HOUR))
    slot = hold("a")
    hold("a")
    wait("a"), wait("a")
    first, second = race(box, "a", lambda db: release(slot, db=db), lambda db: release(slot, db=db))
    assert (first.released, first.granted) == (True, 1)
    assert (second.released, second.granted) == (False, 0)


def test_a_call_delivered_twice_at_once_has_one_slot(declare: Declare, box: pool.Database) -> None:
    """A5."""
    declare(a=(2, HOUR))
    first, second = race(box, "a", lambda db: ask("a", key="one", db=db), lambda db: ask("a", key="one", db=db))
    assert first.slot_id == second.slot_id
    assert counts("a") == (1, 0, 0)


@BOTH_ORDERS
def test_a_request_as_its_limit_is_undeclared_is_refused_or_served(
    declare: Declare, box: pool.Database, swapped: bool
) -> None:
    """D8."""
    declare(a=(1, HOUR))
    asked, synced = in_either_order(
        box, swapped, lambda db: ask("a", db=db), lambda db: engine.declare("tests", {}, db=db)
    )
    assert synced.removed == ["a"]
    if swapped:
        assert isinstance(asked, UnknownLimitError)
        assert not asked.declared
    else:
        assert asked.state == "busy"


@pytest.mark.parametrize("operation", ["release", "withdraw", "confirm"])
def test_a_slot_pruned_while_a_call_waits_for_the_lock_is_as_if_never_known(
    declare: Declare, box: pool.Database, clock: Clock, operation: str
) -> None:
    """F1, F5: no count moves."""
    declare(a=(1, HOUR))
    slot = hold("a")
    release(slot)
    clock.advance(31 * DAY)
    held, waiting = hold("a"), wait("a")
    release(held)
    call: Call = {
        "release": lambda db: release(slot, db=db).released,
        "withdraw": lambda db: engine.withdraw(slot, actor=CLIENT, db=db),
        "confirm": lambda db: engine.confirm(slot, db=db),
    }[operation]

    def prune() -> None:
        assert engine.prune() == 1

    [outcome] = race(box, "a", call, meanwhile=prune)
    assert outcome in (False, engine.Asked(slot_id=None, state="unknown"))
    assert counts("a") == (0, 1, 0)
    assert confirm(waiting) == "busy"


def test_a_process_that_is_given_up_as_it_asks_joins_anew(declare: Declare, box: pool.Database) -> None:
    """Q7: the request waits for the lock, meanwhile the sweep closes the process's row."""
    declare(a=(1, HOUR))
    hold("a")
    process = gone_process(box)
    [asked] = race(box, "a", lambda db: ask("a", worker_id=process, db=db), meanwhile=lambda: engine.sweep())
    assert isinstance(asked, ProcessGoneError)
    assert counts("a") == (1, 0, 0)


def test_a_process_is_not_given_up_while_its_request_is_under_way(declare: Declare, box: pool.Database) -> None:
    """Q7: the sweep waits for the request, sees the place in the queue, and withdraws it the next time."""
    declare(a=(1, HOUR))
    hold("a")
    process = gone_process(box)
    with box.connection() as connection, connection.transaction():
        connection.execute("SELECT limits.request('a', 'late', NULL, 60000, NULL, NULL, %s)", [process])
        sweeping = Contender(box, "sweeping", lambda db: engine.sweep(db=db))
        see_waiting(box, "sweeping")
    assert sweeping.outcome() == engine.Swept()
    assert box.fetch("SELECT ended_at FROM limits.worker") == [{"ended_at": None}]
    assert engine.sweep() == engine.Swept(withdrawn=1)


def gone_process(box: pool.Database) -> int:
    let_server_age(box)
    process = engine.join("client", name="gone")
    box.fetch("UPDATE limits.worker SET gone_since = clock_timestamp() - interval '1 minute' RETURNING id")
    return process
