"""What operators set: it wins until reset."""

from collections.abc import Callable
from typing import Any

import pytest

from limits import engine, pool, queries
from limits.errors import ChangedMeanwhileError, InvalidValueError, UnknownLimitError
from limits.rules import CAPACITY_MAX, HOUR, MAX_HOLD_MAX, MINUTE, SECOND
from tests.conftest import Clock
from tests.engine.steps import OPERATOR, confirm, counts, everything, hold, ids, release, row, state, wait

type Declare = Callable[..., engine.Synced]


def limit(name: str) -> queries.LimitState:
    found = queries.limit(name)
    assert found is not None
    return found


def test_an_override_wins_until_it_is_reset(declare: Declare) -> None:
    """O1: a deploy does not clear it, the declared value changes underneath and shows."""
    declare(a=(1, HOUR))
    assert engine.edit("a", actor=OPERATOR, capacity=5, max_hold=MINUTE, reason="busy day").changed
    declare(a=(2, 2 * HOUR))
    capacity, max_hold = limit("a").capacity, limit("a").max_hold
    assert (capacity.effective, capacity.declared, capacity.override) == (5, 2, 5)
    assert (max_hold.effective, max_hold.declared, max_hold.override) == (MINUTE, 2 * HOUR, MINUTE)
    assert (capacity.override_by, capacity.override_reason) == ("ana", "busy day")
    assert capacity.override_at is not None
    assert engine.reset("a", "capacity", actor=OPERATOR).changed
    assert (limit("a").capacity.effective, limit("a").capacity.override) == (2, None)
    assert limit("a").max_hold.override == MINUTE


def test_lowering_below_what_is_held_takes_nothing_back(declare: Declare) -> None:
    """O2, case 12: over by three, never a negative number, and the first grant comes below the new value."""
    declare(a=(5, HOUR), b=(1, HOUR))
    held = [hold("a") for _ in range(5)]
    waiting = [wait("a") for _ in range(3)]
    assert engine.edit("a", actor=OPERATOR, capacity=2) == engine.Edited(changed=True, granted=0)
    assert (limit("a").held, limit("a").free, limit("a").over) == (5, 0, 3)
    assert hold("b")
    for slot, expected in zip(held[:4], [(4, 0, 3), (3, 0, 3), (2, 0, 3), (1, 1, 2)], strict=True):
        release(slot)
        assert counts("a") == expected
    assert ids("a", "reserved") == waiting[:1]
    assert (limit("a").free, limit("a").over) == (0, 0)


def test_a_lowered_capacity_takes_no_reservation_back_either(declare: Declare) -> None:
    """O2: it may still confirm."""
    declare(a=(2, HOUR))
    held = [hold("a"), hold("a")]
    waiting = wait("a")
    release(held[0])
    engine.edit("a", actor=OPERATOR, capacity=1)
    assert confirm(waiting) == "busy"
    assert counts("a") == (2, 0, 0)


def test_raising_grants_at_once(declare: Declare) -> None:
    """O2, F4."""
    declare(a=(1, HOUR))
    hold("a")
    waiting = [wait("a") for _ in range(3)]
    assert engine.edit("a", actor=OPERATOR, capacity=3).granted == 2
    assert ids("a", "reserved") == waiting[:2]


def test_each_slot_keeps_the_max_hold_of_its_grant(declare: Declare, clock: Clock) -> None:
    """O3, case 33: lowering takes nothing back sooner, raising prolongs nothing."""
    declare(a=(4, 10 * MINUTE))
    first = hold("a")
    engine.edit("a", actor=OPERATOR, max_hold=MINUTE)
    second = hold("a")
    engine.edit("a", actor=OPERATOR, max_hold=HOUR)
    third = hold("a")
    engine.reset("a", "max_hold", actor=OPERATOR)
    fourth = hold("a")
    spans = [_span(slot) for slot in (first, second, third, fourth)]
    assert spans == [600, 60, 3_600, 600]
    clock.advance(80 * SECOND)
    engine.sweep()
    assert [state(slot) for slot in (first, second, third, fourth)] == ["busy", "expired", "busy", "busy"]
    assert [_span(slot) for slot in (first, second, third, fourth)] == spans


def _span(slot_id: str) -> float:
    found = row(slot_id)
    assert found.expires_at is not None
    assert found.granted_at is not None
    return (found.expires_at - found.granted_at).total_seconds()


def test_a_waiter_gets_the_max_hold_of_the_moment_of_its_grant(declare: Declare) -> None:
    """O3: not of its request, not of its confirmation."""
    declare(a=(1, HOUR))
    held, waiting = hold("a"), wait("a")
    engine.edit("a", actor=OPERATOR, max_hold=10 * MINUTE)
    release(held)
    engine.edit("a", actor=OPERATOR, max_hold=HOUR)
    confirm(waiting)
    assert _span(waiting) == 600


def test_an_edit_of_both_grants_with_both_new_values(declare: Declare) -> None:
    """O2, O3: one operation, so the raise's grants have the new max hold."""
    declare(a=(1, HOUR))
    hold("a")
    waiting = wait("a")
    assert engine.edit("a", actor=OPERATOR, capacity=2, max_hold=10 * MINUTE).granted == 1
    assert _span(waiting) == 600


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"capacity": 0}, "a.capacity.*at least 1.*pause"),
        ({"capacity": -1}, "a.capacity.*100,000.*-1"),
        ({"capacity": CAPACITY_MAX + 1}, "a.capacity.*100,000.*100,001"),
        ({"capacity": 10**30}, "a.capacity"),
        ({"capacity": True}, "a.capacity"),
        ({"capacity": 2.5}, "a.capacity"),
        ({"capacity": "20"}, "a.capacity"),
        ({"capacity": float("nan")}, "a.capacity"),
        ({"max_hold": 0}, "a.max_hold"),
        ({"max_hold": -1}, "a.max_hold"),
        ({"max_hold": MAX_HOLD_MAX + 1}, "a.max_hold"),
        ({"max_hold": True}, "a.max_hold"),
        ({"max_hold": 1.5}, "a.max_hold"),
        ({"capacity": 3, "max_hold": 0}, "a.max_hold"),
        ({"capacity": 3, "reason": "x" * 501}, "a: reason.*500"),
        ({"capacity": 3, "reason": "\0"}, "a: reason"),
    ],
)
def test_values_out_of_range_are_refused_and_nothing_changes(
    declare: Declare, box: pool.Database, values: dict[str, Any], message: str
) -> None:
    """O4, cases 32 and 38: zero has one meaning: refused, with the hint to pause."""
    declare(a=(2, HOUR))
    before = everything(box)
    with pytest.raises(InvalidValueError, match=message):
        engine.edit("a", actor=OPERATOR, **values)
    assert everything(box) == before


def test_the_bounds_themselves_are_legal(declare: Declare) -> None:
    """O4, D2."""
    declare(a=(2, HOUR))
    assert engine.edit("a", actor=OPERATOR, capacity=CAPACITY_MAX, max_hold=MAX_HOLD_MAX).changed
    assert engine.edit("a", actor=OPERATOR, capacity=1, max_hold=1).changed
    assert (limit("a").capacity.effective, limit("a").max_hold.effective) == (1, 1)


def test_an_override_equal_to_the_declared_value_is_one_all_the_same(declare: Declare) -> None:
    """O5: it survives a deploy."""
    declare(a=(2, HOUR))
    assert engine.edit("a", actor=OPERATOR, capacity=2).changed
    declare(a=(7, HOUR))
    assert (limit("a").capacity.effective, limit("a").capacity.declared) == (2, 7)


def test_setting_the_standing_override_again_changes_nothing(declare: Declare, box: pool.Database) -> None:
    """O5: and leaves no second record."""
    declare(a=(2, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=3, max_hold=MINUTE)
    before = everything(box)
    assert engine.edit("a", actor=OPERATOR, capacity=3, max_hold=MINUTE) == engine.Edited(changed=False, granted=0)
    assert everything(box) == before


def test_an_edit_that_names_no_value_pins_nothing(declare: Declare, box: pool.Database) -> None:
    """O5, case 34: a form that was saved unchanged leaves the limit to the deploys."""
    declare(a=(2, HOUR))
    before = everything(box)
    assert not engine.edit("a", actor=OPERATOR).changed
    assert everything(box) == before
    declare(a=(7, HOUR))
    assert limit("a").capacity.effective == 7


@pytest.mark.parametrize("field", ["capacity", "max_hold"])
def test_a_reset_without_an_override_says_so_and_changes_nothing(
    declare: Declare, box: pool.Database, field: str
) -> None:
    """O5."""
    declare(a=(2, HOUR))
    before = everything(box)
    assert engine.reset("a", field, actor=OPERATOR) == engine.Edited(changed=False, granted=0)
    assert engine.reset("a", field, actor=OPERATOR, expected=99) == engine.Edited(changed=False, granted=0)
    assert everything(box) == before


def test_a_reset_that_lowers_takes_nothing_back(declare: Declare) -> None:
    """O1, O2."""
    declare(a=(1, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=2)
    hold("a"), hold("a")
    assert engine.reset("a", "capacity", actor=OPERATOR) == engine.Edited(changed=True, granted=0)
    assert limit("a").over == 1


def test_only_two_fields_can_be_reset(declare: Declare) -> None:
    """O1."""
    declare(a=(1, HOUR))
    with pytest.raises(InvalidValueError, match=r"a: field.*'name'"):
        engine.reset("a", "name", actor=OPERATOR)


def test_changing_what_is_not_there_is_an_error_and_creates_nothing(declare: Declare, box: pool.Database) -> None:
    """Case 45: each verb, with near names."""
    declare(calls=(1, HOUR))
    before = everything(box)
    for verb in (
        lambda: engine.edit("call", actor=OPERATOR, capacity=5),
        lambda: engine.reset("call", "capacity", actor=OPERATOR),
        lambda: engine.pause("call", actor=OPERATOR),
        lambda: engine.resume("call", actor=OPERATOR),
    ):
        with pytest.raises(UnknownLimitError, match="'calls'"):
            verb()
    assert everything(box) == before


def test_the_second_of_two_editors_gets_both_values(declare: Declare, box: pool.Database) -> None:
    """O7: by the value each saw; nothing of the second edit is taken over."""
    declare(a=(2, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=3, expected_capacity=2)
    before = everything(box)
    with pytest.raises(ChangedMeanwhileError) as caught:
        engine.edit("a", actor=OPERATOR, capacity=9, expected_capacity=2, max_hold=MINUTE, expected_max_hold=HOUR)
    assert (caught.value.field, caught.value.seen, caught.value.current) == ("capacity", 2, 3)
    with pytest.raises(ChangedMeanwhileError) as caught:
        engine.edit("a", actor=OPERATOR, max_hold=MINUTE, expected_max_hold=2 * HOUR)
    assert (caught.value.field, caught.value.seen, caught.value.current) == ("max_hold", 2 * HOUR, HOUR)
    with pytest.raises(ChangedMeanwhileError) as caught:
        engine.reset("a", "capacity", actor=OPERATOR, expected=2)
    assert (caught.value.field, caught.value.seen, caught.value.current) == ("capacity", 2, 3)
    assert everything(box) == before
    assert engine.edit("a", actor=OPERATOR, capacity=9, expected_capacity=3).changed
    assert engine.reset("a", "capacity", actor=OPERATOR, expected=9).changed


def test_two_editors_of_different_fields_do_not_disturb_each_other(declare: Declare) -> None:
    """O7: per field."""
    declare(a=(2, HOUR))
    assert engine.edit("a", actor=OPERATOR, capacity=3, expected_capacity=2).changed
    assert engine.edit("a", actor=OPERATOR, max_hold=MINUTE, expected_max_hold=HOUR).changed
    assert (limit("a").capacity.effective, limit("a").max_hold.effective) == (3, MINUTE)
