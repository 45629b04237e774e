"""What the config declares, and what a sync leaves alone."""

from collections.abc import Callable
from typing import Any

import pytest

from limits import engine, pool, queries
from limits.errors import InvalidValueError, UnknownLimitError, WorkspaceMismatchError
from limits.rules import CAPACITY_MAX, DAY, HOUR, LIMITS_MAX, MAX_HOLD_MAX, MINUTE
from tests.conftest import Clock
from tests.engine.steps import OPERATOR, ask, confirm, counts, everything, hold, ids, release, state, wait

type Declare = Callable[..., engine.Synced]


def test_a_sync_says_what_it_added_changed_and_removed(declare: Declare) -> None:
    """D6."""
    assert declare(a=(1, HOUR), b=(2, HOUR)) == engine.Synced(added=["a", "b"], changed=[], removed=[], granted=0)
    assert declare(a=(1, HOUR), b=(2, HOUR)) == engine.Synced(added=[], changed=[], removed=[], granted=0)
    assert declare(b=(3, HOUR), c=(1, HOUR)) == engine.Synced(added=["c"], changed=["b"], removed=["a"], granted=0)
    assert [limit.name for limit in queries.limits()] == ["b", "c"]


def test_a_sync_that_changes_nothing_writes_nothing(declare: Declare, box: pool.Database) -> None:
    """D6: every start of every process syncs."""
    declare(a=(1, HOUR))
    before = everything(box)
    declare(a=(1, HOUR))
    assert everything(box) == before


def test_a_config_at_the_bound_takes_the_place_of_another_and_one_limit_more_is_refused(
    declare: Declare, box: pool.Database
) -> None:
    """D6: a sync locks all limits, those no longer declared too, and the server has room for so many locks."""
    for generation in ("old", "new"):
        declared = {f"{generation}-{n}": (1, HOUR) for n in range(LIMITS_MAX)}
        assert len(declare(**declared).added) == LIMITS_MAX
    assert len(queries.limits()) == LIMITS_MAX
    before = everything(box)
    with pytest.raises(InvalidValueError, match=r"^limits: must be at most 5,000, got 5,001$"):
        declare(**declared, one_more=(1, HOUR))
    assert everything(box) == before


def test_another_workspace_is_refused_and_the_database_stays_as_it_was(declare: Declare, box: pool.Database) -> None:
    """D6: the database remembers whose it is."""
    declare(a=(1, HOUR))
    before = everything(box)
    with pytest.raises(WorkspaceMismatchError, match=r"'tests'.*'others'"):
        engine.declare("others", {"a": engine.Declared(capacity=5, max_hold=HOUR)})
    assert everything(box) == before


@pytest.mark.parametrize(
    ("name", "capacity", "max_hold", "message"),
    [
        ("b", 0, HOUR, r'limits\["b"\]\.capacity.*pause'),
        ("b", CAPACITY_MAX + 1, HOUR, r'limits\["b"\]\.capacity.*100,000.*100,001'),
        ("b", True, HOUR, r'limits\["b"\]\.capacity'),
        ("b", 2.0, HOUR, r'limits\["b"\]\.capacity'),
        ("b", 1, 0, r'limits\["b"\]\.max_hold'),
        ("b", 1, -1, r'limits\["b"\]\.max_hold'),
        ("b", 1, MAX_HOLD_MAX + 1, r'limits\["b"\]\.max_hold'),
        ("b\n", 1, HOUR, "name"),
        ("B", 1, HOUR, "name"),
        ("", 1, HOUR, "name"),
        ("b" * 65, 1, HOUR, "name"),
    ],
)
def test_one_faulty_value_leaves_the_database_untouched(
    declare: Declare, box: pool.Database, name: str, capacity: Any, max_hold: int, message: str
) -> None:
    """D6, D2, D1: the good limits beside it are not taken over either."""
    declare(a=(1, HOUR))
    before = everything(box)
    with pytest.raises(InvalidValueError, match=message):
        engine.declare(
            "tests",
            {
                "a": engine.Declared(capacity=9, max_hold=HOUR),
                name: engine.Declared(capacity=capacity, max_hold=max_hold),
            },
        )
    assert everything(box) == before


def test_a_fault_in_the_middle_of_a_sync_undoes_the_whole(declare: Declare, box: pool.Database) -> None:
    """D6: one transaction, also for what only the database notices."""
    declare(a=(1, HOUR))
    before = everything(box)
    with pytest.raises(Exception, match="limit_possible"):
        box.fetch(
            "SELECT * FROM limits.declare('tests', %s)",
            ['{"a": {"capacity": 9, "max_hold": 1000}, "b": {"capacity": 0, "max_hold": 1000}}'],
        )
    assert everything(box) == before


def test_raising_the_declared_capacity_grants_at_once(declare: Declare) -> None:
    """D7, F4."""
    declare(a=(1, HOUR))
    hold("a")
    waiting = [wait("a") for _ in range(4)]
    assert declare(a=(3, HOUR)).granted == 2
    assert ids("a", "reserved") == waiting[:2]
    assert ids("a", "waiting") == waiting[2:]


def test_lowering_the_declared_capacity_takes_nothing_back(declare: Declare) -> None:
    """D7: held slots stay, and the next grants come below the new value."""
    declare(a=(3, HOUR))
    held = [hold("a") for _ in range(3)]
    waiting = wait("a")
    assert declare(a=(1, HOUR)).granted == 0
    assert counts("a") == (3, 0, 1)
    assert [release(slot).granted for slot in held] == [0, 0, 1]
    assert confirm(waiting) == "busy"


def test_a_sync_touches_neither_overrides_nor_pause_nor_the_order_of_the_queue(declare: Declare) -> None:
    """D7, O1: the declared value changes underneath, and shows."""
    declare(a=(1, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=2, max_hold=MINUTE)
    held = [hold("a"), hold("a")]
    waiting = [wait("a") for _ in range(3)]
    engine.pause("a", actor=OPERATOR, reason="repairs")
    assert declare(a=(9, 2 * HOUR)).granted == 0
    found = queries.limit("a")
    assert found is not None
    assert (found.capacity.effective, found.capacity.declared, found.capacity.override) == (2, 9, 2)
    assert (found.max_hold.effective, found.max_hold.declared) == (MINUTE, 2 * HOUR)
    assert found.pause is not None
    assert ids("a", "busy") == held
    assert ids("a", "waiting") == waiting


def test_a_new_declared_max_hold_counts_for_later_grants_only(declare: Declare) -> None:
    """D7, O3."""
    declare(a=(2, HOUR))
    first = queries.slot(hold("a"))
    declare(a=(2, MINUTE))
    second = queries.slot(hold("a"))
    assert first is not None
    assert second is not None
    assert first.granted_at is not None
    assert queries.slot(first.id) == first
    assert second.granted_at is not None
    assert second.expires_at is not None
    assert (second.expires_at - second.granted_at).total_seconds() == 60


def test_an_undeclared_limit_serves_out_what_it_has(declare: Declare, clock: Clock) -> None:
    """D8: held slots are released or expire, waiting ones are served, new acquires fail, then it is gone."""
    declare(a=(2, HOUR), b=(1, HOUR))
    first, _second = hold("a"), hold("a")
    waiting = wait("a", key="mine")
    assert declare(b=(1, HOUR)).removed == ["a"]
    [shown] = [limit for limit in queries.limits() if limit.name == "a"]
    assert (shown.declared, shown.health) == (False, queries.Health.UNDECLARED)
    with pytest.raises(UnknownLimitError, match="no longer declared"):
        ask("a")
    assert ask("a", key="mine").slot_id == waiting
    assert release(first).released
    assert confirm(waiting) == "busy"
    clock.advance(HOUR)
    assert engine.sweep().expired == 2
    assert [limit.name for limit in queries.limits()] == ["b"]
    assert queries.limit("a") is not None
    assert state(first) == "released"
    assert [change.kind for change in queries.changes(limit="a").items] == ["undeclare", "declare"]


def test_an_override_is_kept_for_the_return_of_the_limit(declare: Declare) -> None:
    """D8: it applies again when the limit is declared again."""
    declare(a=(1, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=3)
    declare(b=(1, HOUR))
    assert declare(a=(2, HOUR), b=(1, HOUR)).changed == ["a"]
    found = queries.limit("a")
    assert found is not None
    assert (found.declared, found.capacity.effective, found.capacity.declared) == (True, 3, 2)


def test_a_limit_declared_again_grants_what_is_free_now(declare: Declare) -> None:
    """D8, F4: its queue is still there."""
    declare(a=(1, HOUR))
    hold("a")
    waiting = [wait("a"), wait("a")]
    declare(b=(1, HOUR))
    assert declare(a=(2, HOUR), b=(1, HOUR)).granted == 1
    assert ids("a", "reserved") == waiting[:1]


def test_an_undeclared_limit_can_still_be_reset_paused_and_resumed_but_not_edited(declare: Declare) -> None:
    """D8: its waiting ones are served, so an operator can stop and start that."""
    declare(a=(1, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=2)
    hold("a"), hold("a")
    waiting = wait("a")
    declare(b=(1, HOUR))
    with pytest.raises(UnknownLimitError, match="no longer declared"):
        engine.edit("a", actor=OPERATOR, capacity=5)
    assert engine.pause("a", actor=OPERATOR).changed
    release(ids("a", "busy")[0])
    assert state(waiting) == "waiting"
    assert engine.resume("a", actor=OPERATOR) == engine.Edited(changed=True, granted=1)
    assert engine.reset("a", "capacity", actor=OPERATOR).changed


def test_the_largest_legal_values_are_kept_exactly(declare: Declare, clock: Clock) -> None:
    """Case 41: 30 days are beyond 2^31 milliseconds; nothing fires early."""
    declare(a=(CAPACITY_MAX, MAX_HOLD_MAX), b=(1, MAX_HOLD_MAX))
    found = queries.limit("a")
    assert found is not None
    assert (found.capacity.effective, found.max_hold.effective) == (100_000, 30 * DAY)
    held, other = hold("a"), hold("b")
    waiting = wait("b", timeout=365 * DAY)
    clock.advance(MINUTE)
    engine.sweep()
    assert (state(held), state(waiting)) == ("busy", "waiting")
    clock.advance(30 * DAY - 2 * MINUTE)
    engine.sweep()
    assert state(other) == "busy"
    clock.advance(MINUTE)
    engine.sweep()
    assert (state(held), state(other)) == ("expired", "expired")
    assert confirm(waiting) == "busy"
