"""Everything that frees a slot grants it in the same transaction."""

import uuid
from collections.abc import Callable

import pytest

from limits import engine, pool, queries
from limits.errors import InvalidValueError
from limits.rules import HOUR, MINUTE
from tests.conftest import Clock
from tests.engine.steps import CLIENT, OPERATOR, confirm, counts, everything, hold, ids, release, row, state, wait

type Declare = Callable[..., engine.Synced]


def test_a_release_counts_once(declare: Declare) -> None:
    """F1: any later call changes nothing."""
    declare(a=(1, HOUR))
    slot = hold("a")
    assert release(slot) == engine.Released(released=True, state="released", limit="a", granted=0)
    ended = row(slot)
    assert release(slot) == engine.Released(released=False, state="released", limit="a", granted=0)
    assert row(slot) == ended
    assert (ended.ended_by, ended.end_reason) == ("program", None)


@pytest.mark.parametrize(
    "slot_id",
    ["", "abc", "0", "../x", "9" * 30, "' OR 1=1", "\0", "\ud800", "00000000-0000-0000-0000-000000000000",
     "00000000-0000-0000-0000-000000000000\n", "ABCDEFAB-0000-0000-0000-000000000000", "{" + "0" * 32 + "}",
     None, 7],
)  # fmt: skip
def test_an_id_never_known_is_answered_not_raised(declare: Declare, box: pool.Database, slot_id: str) -> None:
    """F1, case 51: nothing changes, whatever the text."""
    declare(a=(1, HOUR))
    hold("a")
    before = everything(box)
    assert release(slot_id) == engine.Released(released=False, state=None, limit=None, granted=0)
    assert engine.confirm(slot_id) == engine.Asked(slot_id=None, state="unknown")
    assert not engine.withdraw(slot_id, actor=CLIENT)
    assert queries.slot(slot_id) is None
    assert everything(box) == before


def test_the_same_release_sent_again_gets_the_same_answer(declare: Declare) -> None:
    """F1, case 50: the answer was lost; another call's key is told the truth."""
    declare(a=(1, HOUR))
    slot = hold("a")
    waiting = wait("a")
    assert release(slot, key="call").released
    assert release(slot, key="call") == engine.Released(released=True, state="released", limit="a", granted=0)
    assert not release(slot, key="another").released
    assert not release(slot).released
    assert ids("a", "reserved") == [waiting]


@pytest.mark.parametrize("stage", ["waiting", "reserved"])
def test_only_a_busy_slot_can_be_released(declare: Declare, stage: str) -> None:
    """F1, case 45: a place in the queue is left by withdrawing."""
    declare(a=(1, HOUR))
    held = hold("a")
    waiting = wait("a")
    if stage == "reserved":
        release(held)
    assert release(waiting, key="k") == engine.Released(released=False, state=stage, limit="a", granted=0)
    assert state(waiting) == stage


def test_a_holder_that_comes_back_late_releases_nobody_elses_slot(declare: Declare, clock: Clock) -> None:
    """F1, case 9: its own has expired, another runs and a third waits."""
    declare(a=(1, HOUR))
    engine.edit("a", actor=OPERATOR, max_hold=20_000)
    first = hold("a")
    clock.advance(20_000)
    second, third = hold("a"), wait("a")
    for _ in range(3):
        assert release(first) == engine.Released(released=False, state="expired", limit="a", granted=0)
    assert (state(second), state(third)) == ("busy", "waiting")
    assert release(second).granted == 1
    assert confirm(third) == "busy"


def test_an_operator_releases_with_a_reason(declare: Declare) -> None:
    """F2: the row and the record say who and why."""
    declare(a=(1, HOUR))
    slot = hold("a", label="call-17")
    waiting = wait("a")
    assert engine.release(slot, actor=OPERATOR, reason="hung up").granted == 1
    assert (row(slot).ended_by, row(slot).end_reason) == ("ana", "hung up")
    assert confirm(waiting) == "busy"
    with pytest.raises(InvalidValueError, match="reason"):
        engine.release(waiting, actor=OPERATOR, reason="x" * 501)
    assert state(waiting) == "busy"


def test_max_hold_takes_the_slot_back(declare: Declare, clock: Clock) -> None:
    """F3: at its instant, not before; the next one gets it in the same pass."""
    declare(a=(1, HOUR))
    slot, waiting = hold("a"), wait("a")
    clock.advance(HOUR - MINUTE)
    assert not engine.sweep()
    clock.advance(MINUTE)
    assert engine.sweep() == engine.Swept(expired=1, granted=1)
    assert (state(slot), row(slot).ended_by, state(waiting)) == ("expired", "system", "reserved")


@pytest.mark.parametrize("operation", ["request", "release", "confirm", "withdraw", "abandon", "edit", "declare"])
def test_no_operation_ignores_what_is_due(declare: Declare, clock: Clock, operation: str) -> None:
    """F8: nobody swept, but each settles its own limit before it decides."""
    declare(a=(2, HOUR))
    overdue, waiting, last = [hold("a"), hold("a")], [wait("a"), wait("a")], wait("a", key="last")
    clock.advance(HOUR)
    match operation:
        case "request":
            wait("a")
        case "release":
            assert not release(overdue[0]).released
        case "confirm":
            assert confirm(waiting[0]) == "busy"
        case "withdraw":
            assert engine.withdraw(last, actor=CLIENT)
        case "abandon":
            assert engine.abandon("a", "last", actor=CLIENT) == "waiting"
        case "edit":
            assert engine.edit("a", actor=OPERATOR, max_hold=MINUTE).granted == 2
        case "declare":
            assert declare(a=(2, MINUTE)).granted == 2
    assert [state(slot) for slot in overdue] == ["expired", "expired"]
    assert sum(counts("a")[:2]) == 2
    assert state(waiting[0]) in ("reserved", "busy")
    assert state(waiting[1]) == "reserved"


def test_two_slots_freed_together_wake_two_waiters(declare: Declare, clock: Clock) -> None:
    """F6, case 7: by two releases, by two expiries in one pass, by one raise."""
    declare(a=(3, HOUR))
    held = [hold("a")]
    clock.advance(MINUTE)
    held += [hold("a"), hold("a")]
    waiting = [wait("a") for _ in range(5)]
    assert [release(held[1]).granted, release(held[2]).granted] == [1, 1]
    assert ids("a", "reserved") == waiting[:2]
    assert [confirm(slot) for slot in waiting[:2]] == ["busy", "busy"]
    clock.advance(HOUR)
    # Three are over: the one held from the start, and the two granted since.
    assert engine.sweep() == engine.Swept(expired=3, granted=3)
    assert ids("a", "reserved") == waiting[2:]
    more = [wait("a") for _ in range(5)]
    assert engine.edit("a", actor=OPERATOR, capacity=6).granted == 3
    assert ids("a", "reserved") == [*waiting[2:], *more[:3]]


@pytest.mark.parametrize("door", ["override", "reset", "sync", "resume"])
def test_a_raise_by_whatever_door_grants_as_many_as_fit_in_order(declare: Declare, door: str) -> None:
    """F4."""
    declare(a=(4, HOUR))
    match door:
        case "reset":
            engine.edit("a", actor=OPERATOR, capacity=1)
        case "resume":
            pass
        case _:
            declare(a=(1, HOUR))
    hold("a")
    if door == "resume":
        engine.pause("a", actor=OPERATOR)
    waiting = [wait("a") for _ in range(5)]
    granted = {
        "override": lambda: engine.edit("a", actor=OPERATOR, capacity=4).granted,
        "reset": lambda: engine.reset("a", "capacity", actor=OPERATOR).granted,
        "sync": lambda: declare(a=(4, HOUR)).granted,
        "resume": lambda: engine.resume("a", actor=OPERATOR).granted,
    }[door]()
    assert granted == 3
    assert ids("a", "reserved") == waiting[:3]
    assert ids("a", "waiting") == waiting[3:]


def test_three_thousand_waiters_are_granted_in_one_call(declare: Declare, box: pool.Database) -> None:
    """F4, F6: however many fit."""
    declare(a=(1, HOUR))
    hold("a")
    box.fetch("SELECT limits.request('a', 'k' || n, NULL, 86400000, NULL, NULL, NULL) FROM generate_series(1, 3000) n")
    waiting = ids("a", "waiting")
    assert len(waiting) == 3_000
    assert engine.edit("a", actor=OPERATOR, capacity=3_000).granted == 2_999
    assert ids("a", "reserved") == waiting[:-1]
    assert ids("a", "waiting") == waiting[-1:]


def test_grants_and_ends_wake_whoever_waits_and_nothing_else_does(
    declare: Declare, box: pool.Database, clock: Clock
) -> None:
    """F6: granted, timed out, withdrawn: each slot by its id; taking and giving back free slots tells nobody."""
    declare(a=(1, HOUR))
    listener = box.connect()
    listener.execute("LISTEN limits_wake")
    held = hold("a")
    granted, timed_out, withdrawn = wait("a"), wait("a", timeout=MINUTE), wait("a")
    release(held)
    confirm(granted)
    clock.advance(MINUTE)
    engine.sweep()
    engine.withdraw(withdrawn, actor=CLIENT)
    release(granted)
    release(hold("a"))
    told = [notification.payload for notification in listener.notifies(timeout=0.2)]
    listener.close()
    assert told == [granted, timed_out, withdrawn]


@pytest.mark.parametrize("stage", ["busy", "waiting", "reserved", "nothing", "released"])
def test_a_call_that_leaves_gives_back_whatever_it_had(declare: Declare, stage: str) -> None:
    """F1, F5: by its key, for one that does not know how far its request came."""
    declare(a=(1, HOUR))
    held = hold("a", key="mine" if stage in ("busy", "released") else "other")
    slot = wait("a", key="mine") if stage in ("waiting", "reserved") else held
    behind = wait("a")
    if stage in ("reserved", "released"):
        release(held)
    expected = stage if stage in ("busy", "waiting", "reserved") else None
    assert engine.abandon("a", "mine", actor=CLIENT) == expected
    assert engine.abandon("a", "mine", actor=CLIENT) is None
    if stage == "busy":
        assert (state(slot), row(slot).end_reason) == ("released", "abandoned")
    if stage in ("waiting", "reserved"):
        assert (state(slot), row(slot).end_reason) == ("withdrawn", "abandoned")
    assert state(behind) == ("waiting" if stage in ("waiting", "nothing") else "reserved")


def test_who_leaves_takes_along_only_what_is_his(declare: Declare) -> None:
    """A5: of several that share a key the one who asked last has the place; a slot that is held stays its holder's."""
    declare(a=(1, HOUR))
    first, second = uuid.uuid4(), uuid.uuid4()
    process = engine.join("client", name="one")

    def ask_as(asker: uuid.UUID, key: str) -> str:
        return str(engine.request("a", key=key, worker_id=process, asker=asker).slot_id)

    held = ask_as(first, "held")
    assert ask_as(second, "held") == held
    assert engine.abandon("a", "held", asker=second, actor=CLIENT) is None
    assert state(held) == "busy"
    waiting = ask_as(first, "waits")
    assert ask_as(second, "waits") == waiting
    assert engine.abandon("a", "waits", asker=first, actor=CLIENT) is None
    assert engine.abandon("a", "waits", asker=second, actor=CLIENT) == "waiting"
    assert engine.abandon("a", "held", asker=first, actor=CLIENT) == "busy"


def test_the_end_of_a_run_frees_nothing(declare: Declare, clock: Clock) -> None:
    """F7: the engine gives a busy slot back on release or at max hold only; withdrawing does not touch it."""
    declare(a=(1, HOUR))
    slot = hold("a", run_id="run-1")
    assert not engine.withdraw(slot, actor=OPERATOR)
    clock.advance(HOUR - MINUTE)
    engine.sweep()
    assert state(slot) == "busy"


def test_whoever_gets_the_lock_after_the_row_is_gone_changes_nothing(declare: Declare, clock: Clock) -> None:
    """F1, F5: a slot may be pruned between the look-up of its limit and the lock."""
    # The race itself stands in test_lock_races; here the same calls without it.
    declare(a=(1, HOUR))
    slot = hold("a")
    release(slot)
    clock.advance(40 * 24 * HOUR)
    assert engine.prune() == 1
    assert release(slot) == engine.Released(released=False, state=None, limit=None, granted=0)
    assert not engine.withdraw(slot, actor=CLIENT)
    assert confirm(slot) == "unknown"
