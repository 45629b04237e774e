"""Asking for a slot."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from limits import engine, pool, queries
from limits.errors import InvalidValueError, UnknownLimitError
from limits.rules import DAY, HOUR, MINUTE, TIMEOUT_MAX
from tests.conftest import Clock
from tests.engine.steps import OPERATOR, ask, confirm, counts, everything, hold, ids, release, state, wait

type Declare = Callable[..., engine.Synced]


def test_a_slot_has_an_unguessable_id_that_is_safe_in_an_address(declare: Declare) -> None:
    """A1: ids made in the same millisecond share no random part."""
    declare(a=(200, HOUR))
    found = [hold("a") for _ in range(200)]
    assert all(re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", slot) for slot in found)
    assert len({slot[14:] for slot in found}) == 200


def test_a_free_slot_is_busy_at_once_without_a_reservation(declare: Declare) -> None:
    """A2."""
    declare(a=(1, HOUR))
    slot = queries.slot(hold("a"))
    assert slot is not None
    assert slot.granted_at == slot.confirmed_at == slot.asked_at
    assert slot.reserved_until is None


def test_everybody_else_queues_and_learns_the_position(declare: Declare) -> None:
    """A2, Q1."""
    declare(a=(1, HOUR))
    hold("a")
    assert [ask("a").position for _ in range(3)] == [1, 2, 3]
    assert [slot.position for slot in queries.slots("a", state="waiting").items] == [1, 2, 3]


def test_no_newcomer_overtakes_a_waiter(declare: Declare) -> None:
    """A2, case 16: between the release and the woken run's turn the slot is its own."""
    declare(a=(1, HOUR))
    held = hold("a")
    waiting = [wait("a") for _ in range(5)]
    served = []
    for expected in waiting:
        assert ask("a", timeout=0).state == "no_slot"
        release(held)
        assert ask("a", timeout=0).state == "no_slot"
        assert confirm(expected) == "busy"
        assert ask("a", timeout=0).state == "no_slot"
        served.append(expected)
        held = expected
    release(held)
    assert served == waiting
    assert ask("a", timeout=0).state == "busy"


def test_no_newcomer_overtakes_waiters_of_a_paused_limit(declare: Declare) -> None:
    """A2, O6: neither while it is paused, nor right after."""
    declare(a=(2, HOUR))
    held = hold("a")
    engine.pause("a", actor=OPERATOR)
    first = wait("a")
    assert ask("a", timeout=0).state == "no_slot"
    release(held)
    assert ask("a", timeout=0).state == "no_slot"
    assert engine.resume("a", actor=OPERATOR).granted == 1
    assert state(first) == "reserved"


def test_a_burst_from_many_sessions_grants_just_the_capacity(declare: Declare) -> None:
    """A3, case 8: 300 requests at once, 5 held, positions 1 to 295 without a gap or a tie."""
    declare(a=(5, HOUR))
    databases = [pool.Database(pool.default().url, size=1) for _ in range(12)]
    with ThreadPoolExecutor(12) as many:
        asked = list(many.map(lambda n: ask("a", key=f"burst-{n}", db=databases[n % 12]), range(300)))
    for database in databases:
        database.close()
    assert counts("a") == (5, 0, 295)
    assert sorted(a.position for a in asked if a.position is not None) == list(range(1, 296))
    shown = {slot.id: slot.position for slot in _all_waiting("a")}
    assert shown == {a.slot_id: a.position for a in asked if a.position is not None}


def _all_waiting(limit: str) -> list[queries.SlotRow]:
    rows: list[queries.SlotRow] = []
    page = queries.slots(limit, state="waiting")
    while page.next:
        rows += page.items
        page = queries.slots(limit, state="waiting", after=page.next)
    return rows + page.items


def test_a_freed_slot_cannot_be_spent_twice(declare: Declare) -> None:
    """A3: a reservation counts against the capacity, whoever asks meanwhile."""
    declare(a=(2, HOUR))
    held = [hold("a"), hold("a")]
    waiting = [wait("a") for _ in range(3)]
    release(held[0])
    assert counts("a") == (1, 1, 2)
    release(held[1])
    assert counts("a") == (0, 2, 1)
    assert [confirm(slot) for slot in waiting] == ["busy", "busy", "waiting"]


def test_an_unknown_limit_is_an_error_that_names_near_ones(declare: Declare, box: pool.Database) -> None:
    """A4: at once, and no row is created."""
    declare(**{"voice-calls": (1, HOUR), "partner-api": (1, HOUR)})
    before = everything(box)
    with pytest.raises(UnknownLimitError, match="voice-calls") as caught:
        ask("voice-cals")
    assert caught.value.near == ("voice-calls",)
    assert everything(box) == before


@pytest.mark.parametrize("name", ["", "Calls", "calls\n", "calls\0", "a" * 65, "a/b", "llamadas-ñ", "\ud800", None, 7])
def test_what_no_limit_can_be_called_is_unknown(declare: Declare, name: Any) -> None:
    """A4, case 37: hostile names never reach the database."""
    declare(calls=(1, HOUR))
    for operation in (
        lambda: ask(name),
        lambda: engine.abandon(name, "key", actor=OPERATOR),
        lambda: engine.edit(name, actor=OPERATOR, capacity=2),
        lambda: engine.reset(name, "capacity", actor=OPERATOR),
        lambda: engine.pause(name, actor=OPERATOR),
    ):
        with pytest.raises(UnknownLimitError):
            operation()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"label": "x" * 201}, "a: label.*200.*201"),
        ({"label": "two\nlines"}, r"a: label.*U\+000A"),
        ({"label": "\0"}, r"a: label.*U\+0000"),
        ({"label": "\x85"}, r"a: label.*U\+0085"),
        ({"label": "\ud83d"}, r"a: label.*U\+D83D"),
        ({"label": 17}, "a: label.*int"),
        ({"key": ""}, "a: key"),
        ({"key": "x" * 201}, "a: key.*200"),
        ({"key": "\0"}, "a: key"),
        ({"timeout": -1}, "a: timeout.*-1"),
        ({"timeout": TIMEOUT_MAX + 1}, f"a: timeout.*{TIMEOUT_MAX}"),
    ],
)
def test_odd_values_are_refused_before_anything_is_stored(
    declare: Declare, box: pool.Database, values: dict[str, Any], message: str
) -> None:
    """A4, A6: the error names limit, field and bound."""
    declare(a=(1, HOUR))
    before = everything(box)
    with pytest.raises(InvalidValueError, match=message):
        ask("a", **values)
    assert everything(box) == before


@pytest.mark.parametrize("label", ["x" * 200, "😀" * 200, "<b>&amp;</b>", "%_'\"\\", "\u202eltr", "", None, "ñandú"])
def test_any_other_text_is_a_label_and_comes_back_as_it_was(declare: Declare, label: str | None) -> None:
    """A4: 200 characters are not bytes; what is odd to a screen is the screen's business."""
    declare(a=(1, HOUR))
    found = queries.slot(hold("a", label=label))
    assert found is not None
    assert found.label == label


def test_a_call_sent_again_finds_its_slot_in_every_live_state(declare: Declare) -> None:
    """A5: however often it is sent, one slot."""
    declare(a=(1, HOUR))
    held = hold("a", key="one")
    assert (ask("a", key="one").slot_id, ask("a", key="one").state) == (held, "busy")
    waiting = wait("a", key="two")
    again = ask("a", key="two", timeout=MINUTE)
    assert (again.slot_id, again.state) == (waiting, "waiting")
    # Its timeout is the first request's.
    assert again.wait_left is not None
    assert again.wait_left > 23 * HOUR
    release(held)
    assert (ask("a", key="two").slot_id, ask("a", key="two").state) == (waiting, "reserved")
    assert counts("a") == (0, 1, 0)


def test_a_call_sent_again_with_timeout_zero_still_finds_its_place(declare: Declare) -> None:
    """A5, A6: trying once is no reason to deny what it has."""
    declare(a=(1, HOUR))
    hold("a")
    waiting = wait("a", key="two")
    assert ask("a", key="two", timeout=0).slot_id == waiting


def test_the_same_key_under_two_limits_is_two_calls(declare: Declare) -> None:
    """A5: a key names a call of one limit."""
    declare(a=(1, HOUR), b=(1, HOUR))
    assert hold("a", key="one") != hold("b", key="one")


def test_one_key_sent_by_many_at_once_gets_one_slot(declare: Declare) -> None:
    """A5, case 60: also when the deliveries race."""
    declare(a=(5, HOUR))
    databases = [pool.Database(pool.default().url, size=1) for _ in range(8)]
    with ThreadPoolExecutor(8) as many:
        asked = list(many.map(lambda n: ask("a", key="one", db=databases[n % 8]), range(40)))
    for database in databases:
        database.close()
    assert len({a.slot_id for a in asked}) == 1
    assert counts("a") == (1, 0, 0)


def test_a_key_whose_slot_has_ended_asks_anew(declare: Declare, clock: Clock) -> None:
    """A5: whatever the end was."""
    declare(a=(1, HOUR))
    seen = [hold("a", key="one")]
    release(seen[-1])
    seen.append(hold("a", key="one"))
    clock.advance(HOUR)
    seen.append(hold("a", key="one"))
    assert [state(slot) for slot in seen] == ["released", "expired", "busy"]
    assert len(set(seen)) == 3


def test_timeout_zero_tries_once_and_never_queues(declare: Declare) -> None:
    """A6."""
    declare(a=(1, HOUR))
    assert ask("a", timeout=0).state == "busy"
    asked = ask("a", timeout=0)
    assert asked == engine.Asked(slot_id=None, state="no_slot")
    assert ids("a", "waiting") == []


def test_a_wait_of_365_days_is_kept_exactly(declare: Declare, clock: Clock) -> None:
    """A6, case 41: the longest timeout neither overflows nor fires early."""
    declare(a=(1, 30 * DAY))
    hold("a")
    engine.pause("a", actor=OPERATOR)
    waiting = wait("a", timeout=TIMEOUT_MAX)
    clock.advance(TIMEOUT_MAX - MINUTE)
    engine.sweep()
    assert state(waiting) == "waiting"
    clock.advance(MINUTE)
    engine.sweep()
    assert state(waiting) == "timed_out"
