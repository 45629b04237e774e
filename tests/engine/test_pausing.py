"""Pause is a switch of its own."""

from collections.abc import Callable

import pytest

from limits import engine, queries
from limits.errors import InvalidValueError
from limits.rules import HOUR, MINUTE
from tests.conftest import Clock
from tests.engine.steps import OPERATOR, ask, confirm, counts, hold, ids, release, state, wait

type Declare = Callable[..., engine.Synced]


def test_a_paused_limit_hands_out_nothing_by_any_door(declare: Declare, clock: Clock) -> None:
    """O6: neither a release nor an expiry, a raise, a sync or a sweep grants; the queue stays in order."""
    declare(a=(2, HOUR))
    held = hold("a")
    hold("a")
    waiting = [wait("a") for _ in range(3)]
    engine.pause("a", actor=OPERATOR)
    assert release(held).granted == 0
    assert engine.edit("a", actor=OPERATOR, capacity=3).granted == 0
    assert engine.reset("a", "capacity", actor=OPERATOR).granted == 0
    assert declare(a=(4, HOUR)).granted == 0
    clock.advance(HOUR)
    assert engine.sweep() == engine.Swept(expired=1)
    assert ask("a", timeout=0).state == "no_slot"
    assert ids("a", "waiting") == waiting
    assert [confirm(slot) for slot in waiting] == ["waiting"] * 3


def test_resuming_grants_at_once_what_fits(declare: Declare) -> None:
    """O6, F4."""
    declare(a=(2, HOUR))
    engine.pause("a", actor=OPERATOR)
    waiting = [wait("a") for _ in range(3)]
    assert engine.resume("a", actor=OPERATOR) == engine.Edited(changed=True, granted=2)
    assert ids("a", "reserved") == waiting[:2]


def test_an_empty_paused_limit_queues_whoever_asks(declare: Declare) -> None:
    """O6, A2."""
    declare(a=(2, HOUR))
    engine.pause("a", actor=OPERATOR)
    assert ask("a", timeout=0).state == "no_slot"
    assert ask("a").state == "waiting"


def test_timeouts_and_max_hold_run_on_while_paused(declare: Declare, clock: Clock) -> None:
    """O6."""
    declare(a=(1, HOUR))
    held, waiting = hold("a"), wait("a", timeout=MINUTE)
    engine.pause("a", actor=OPERATOR)
    clock.advance(MINUTE)
    assert engine.sweep() == engine.Swept(timed_out=1)
    assert state(waiting) == "timed_out"
    clock.advance(HOUR)
    assert engine.sweep() == engine.Swept(expired=1)
    assert state(held) == "expired"


def test_a_reservation_made_before_the_pause_may_confirm(declare: Declare) -> None:
    """O6."""
    declare(a=(1, HOUR))
    held, waiting = hold("a"), wait("a")
    release(held)
    engine.pause("a", actor=OPERATOR)
    assert confirm(waiting) == "busy"


def test_a_reservation_that_lapses_during_the_pause_goes_to_nobody(declare: Declare, clock: Clock) -> None:
    """O6, Q6: the late run waits at the end, and the pause's end grants in order."""
    declare(a=(1, HOUR))
    held, late, second = hold("a"), wait("a"), wait("a")
    release(held)
    engine.pause("a", actor=OPERATOR)
    clock.advance(2 * MINUTE)
    assert engine.sweep() == engine.Swept(lapsed=1)
    assert ids("a", "waiting") == [second, late]
    engine.resume("a", actor=OPERATOR)
    assert ids("a", "reserved") == [second]


def test_the_pause_shows_who_when_and_why(declare: Declare) -> None:
    """O6: until it is over."""
    declare(a=(1, HOUR))
    engine.pause("a", actor=OPERATOR, reason="repairs")
    found = queries.limit("a")
    assert found is not None
    assert found.pause is not None
    assert (found.pause.by, found.pause.reason) == ("ana", "repairs")
    assert abs((found.now - found.pause.at).total_seconds()) < 10
    engine.resume("a", actor=OPERATOR)
    resumed = queries.limit("a")
    assert resumed is not None
    assert resumed.pause is None


def test_pausing_twice_keeps_the_first_ones_word(declare: Declare) -> None:
    """O6: and resuming what runs changes nothing."""
    declare(a=(1, HOUR))
    engine.pause("a", actor=OPERATOR, reason="first")
    assert not engine.pause("a", actor=engine.Actor(name="bea", source="cli"), reason="second").changed
    found = queries.limit("a")
    assert found is not None
    assert found.pause is not None
    assert (found.pause.by, found.pause.reason) == ("ana", "first")
    assert engine.resume("a", actor=OPERATOR).changed
    assert not engine.resume("a", actor=OPERATOR).changed
    assert [change.kind for change in queries.changes(limit="a").items] == ["resume", "pause", "declare"]


def test_pause_overrides_and_deploys_are_independent(declare: Declare) -> None:
    """O6, D7: neither an edit, a reset nor a sync ends it, and it ends none of them."""
    declare(a=(1, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=2)
    engine.pause("a", actor=OPERATOR)
    engine.edit("a", actor=OPERATOR, capacity=3)
    declare(a=(5, HOUR))
    engine.reset("a", "capacity", actor=OPERATOR)
    declare(b=(1, HOUR))
    declare(a=(5, HOUR))
    found = queries.limit("a")
    assert found is not None
    assert found.paused
    assert found.capacity.effective == 5


def test_a_free_slot_of_a_paused_limit_can_be_withdrawn_from_and_given_back(declare: Declare) -> None:
    """O6: leaving is always possible."""
    declare(a=(1, HOUR))
    held, waiting = hold("a"), wait("a")
    engine.pause("a", actor=OPERATOR)
    assert engine.withdraw(waiting, actor=OPERATOR)
    assert release(held).released
    assert counts("a") == (0, 0, 0)


def test_a_reason_that_is_no_text_for_the_record_is_refused(declare: Declare) -> None:
    """O7."""
    declare(a=(1, HOUR))
    with pytest.raises(InvalidValueError, match="reason"):
        engine.pause("a", actor=OPERATOR, reason="x" * 501)
    found = queries.limit("a")
    assert found is not None
    assert not found.paused
