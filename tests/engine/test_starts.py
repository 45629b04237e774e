"""By when each waiting run starts at the latest: the same for one page and for the whole queue, read in step."""

import tracemalloc
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice

import pytest

from benchmarks.load import load
from limits import engine, queries, rules
from limits.pool import Database
from limits.queries import LimitState, Unbounded
from tests.conftest import Clock
from tests.engine.steps import OPERATOR, hold, row, wait

type Declare = Callable[..., engine.Synced]

PASS = timedelta(milliseconds=rules.SWEEP_EVERY)
M = rules.MINUTE


def limit(name: str = "a") -> LimitState:
    found = queries.limit(name)
    assert found is not None
    return found


def ends(*slots: str) -> list[datetime]:
    """Return by when these busy slots are free again at the latest."""
    return [at + PASS for at in (row(slot).expires_at for slot in slots) if at is not None]


def starts(count: int = 1_000) -> list[datetime | Unbounded | None]:
    """Return what is known of each start, from the first in the queue on; by page and as a whole it is the same."""
    state = limit()
    whole = [start for _, start in queries.queue(state, count=count)]
    assert queries.starts(state, queries.slots("a", state="waiting").items) == whole
    for slot in queries.slots("a", state="waiting").items:
        assert queries.starts(state, [slot]) == [whole[(slot.position or 0) - 1]]
    assert all((start.by is None) != (start.why is None) for start in whole)
    return [start.by or start.why for start in whole]


def statements(box: Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of statements that go to the box from now on."""
    sent: list[str] = []
    fetch = box.fetch

    def counted(sql: str, *more: object) -> object:
        sent.append(sql)
        return fetch(sql, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(box, "fetch", counted)
    return sent


@pytest.fixture
def held(declare: Declare, clock: Clock) -> list[str]:
    """Hold all four slots of a limit, taken a minute apart."""
    declare(a=(4, 10 * M))
    slots = []
    for _ in range(4):
        slots.append(hold("a"))
        clock.advance(M)
    return slots


@pytest.mark.parametrize("count", [1, 2, 1_000])
def test_the_kth_run_starts_when_the_kth_soonest_slot_ends(held: list[str], count: int) -> None:
    """S2, F8: one pass later; beyond the busy slots nothing tells."""
    for _ in range(6):
        wait("a")
    assert starts(count) == [*ends(*held), Unbounded.FAR, Unbounded.FAR]


def test_over_the_capacity_the_first_ends_let_nobody_start(held: list[str]) -> None:
    """O2: new grants only when held < capacity."""
    for _ in range(3):
        wait("a")
    engine.edit("a", actor=OPERATOR, capacity=2)
    assert starts() == [*ends(*held[2:]), Unbounded.FAR]
    assert queries.next_move(limit()) == ends(held[2])[0] - PASS


def test_slots_that_end_at_the_same_instant_each_let_one_run_start(box: Database, declare: Declare) -> None:
    """S2: ties between expiries lose none of them on the way from page to page."""
    declare(a=(5, 10 * M))
    held = [hold("a") for _ in range(5)]
    box.fetch("UPDATE limits.slot SET expires_at = (SELECT max(expires_at) FROM limits.slot) RETURNING 1")
    for _ in range(6):
        wait("a")
    for count in (1, 2, 3, 5, 1_000):
        assert starts(count) == [*ends(*held), Unbounded.FAR]


def test_a_free_slot_goes_to_the_first_at_the_next_pass(held: list[str], box: Database) -> None:
    """F8: whoever is first takes what is free, the others wait for the ends."""
    for _ in range(2):
        wait("a")
    box.fetch("UPDATE limits.limit SET capacity = 5, declared_capacity = 5 RETURNING 1")
    state = limit()
    first, second = [start.by for _, start in queries.queue(state)]
    assert (first, second) == (state.now + PASS, ends(held[0])[0])
    assert engine.sweep().granted == 1


def test_nothing_is_promised_while_nothing_is_handed_out(held: list[str], clock: Clock, box: Database) -> None:
    """O6, F8: paused, slots left free, or kept past their time: what is wrong is said instead."""
    wait("a")
    engine.pause("a", actor=OPERATOR)
    assert starts() == [Unbounded.PAUSED]
    engine.resume("a", actor=OPERATOR)
    clock.advance(6 * M + 20_000)
    assert limit().health is queries.Health.FULL
    assert starts() == [Unbounded.OVERDUE]
    clock.advance(11_000)
    assert limit().health is queries.Health.OVERDUE
    assert starts() == [Unbounded.OVERDUE]
    box.fetch("UPDATE limits.limit SET capacity = 5, declared_capacity = 5 RETURNING 1")
    assert limit().health is queries.Health.STUCK
    assert starts() == [Unbounded.STUCK]
    assert engine.sweep().granted == 1


def test_a_run_whose_wait_ends_before_may_time_out_first(held: list[str]) -> None:
    """Q4: the bound is told all the same."""
    wait("a", timeout=M)
    wait("a")
    assert [start.too_late for _, start in queries.queue(limit())] == [True, False]


def test_a_slot_that_does_not_wait_has_no_start(held: list[str]) -> None:
    """S2: only a place in the queue has one."""
    assert queries.start(row(held[0])) is None


def test_one_read_tells_what_is_overdue_of_any_number_of_limits(
    declare: Declare, clock: Clock, monkeypatch: pytest.MonkeyPatch, box: Database
) -> None:
    """S1: as many statements at 300 limits as at one."""
    declare(**{f"a-{n}": (1, M) for n in range(300)})
    for n in range(0, 300, 3):
        hold(f"a-{n}")
    clock.advance(M + 31_000)
    sent = statements(box, monkeypatch)
    found = queries.limits()
    assert len(sent) == 1
    assert sum(each.health is queries.Health.OVERDUE for each in found) == 100


def test_a_long_list_is_read_page_by_page_and_never_held_whole(
    box: Database, declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C1: two reads a page, the queue's and that of the ends; ten times the queue takes no more memory."""
    declare(short=(500, rules.HOUR), long=(5_000, rules.HOUR))
    for name, busy in (("short", 500), ("long", 5_000)):
        load(box, name, state="busy", count=busy, analyse=False)
        load(box, name, state="waiting", count=busy + 100, analyse=False)
    sent = statements(box, monkeypatch)
    peaks = {}
    for name, busy in (("short", 500), ("long", 5_000)):
        state = limit(name)
        sent.clear()
        list(islice(queries.queue(state, count=100), 100))
        assert len(sent) == 2, "the first page does not wait for the rest"
        sent.clear()
        tracemalloc.start()
        expected = 0
        for slot, start in queries.queue(state, count=100):
            expected += 1
            assert (slot.position, start.by is None) == (expected, expected > busy)
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert expected == busy + 100
        pages = expected // 100
        assert len(sent) <= 2 * pages + 2
    assert peaks["long"] < 1.5 * peaks["short"]
