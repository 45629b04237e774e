"""What is read of a limit's history: the points of a range, its marks and gaps, and the sparklines."""

import random
from collections.abc import Callable
from datetime import timedelta

import pytest

from limits import engine, pool, queries
from limits.queries import RANGES, History, Point
from limits.rules import DAY, HOUR, MINUTE, SECOND
from tests.conftest import Clock
from tests.engine.hindsight import moments, reckoned, traffic
from tests.engine.steps import OPERATOR, confirm, hold, release, wait

type Declare = Callable[..., engine.Synced]


def read(key: str = "1h") -> History:
    """Return the history of limit `a` over a range; there must be some."""
    found = queries.history("a", RANGES[key])
    assert found is not None
    return found


def known(history: History) -> list[Point]:
    """Return the points that are known."""
    return [point for point in history.points if point is not None]


def roll_up() -> None:
    while engine.roll_up():
        pass


@pytest.mark.parametrize("key", RANGES)
def test_every_point_is_the_highest_of_its_step(box: pool.Database, declare: Declare, clock: Clock, key: str) -> None:
    """Each equals a count over all slots, whatever its length and whenever it was written down."""
    declare(a=(3, 4 * MINUTE))
    rng = random.Random(key)
    pace = RANGES[key].step // timedelta(minutes=1)
    for _, _ in zip(range(250), traffic(clock, pace), strict=False):
        clock.advance(rng.choice([0, 0, 0, pace * MINUTE]))
        if rng.random() < 0.1:
            engine.roll_up()
    clock.advance(MINUTE)
    roll_up()
    history = read(key)
    slots_say = moments(box, 3)
    points = known(history)
    # The first may have begun before the limit; of the last the counters tell.
    assert len(points) > 20
    for point in points[1:-1]:
        seen = (point.busy, point.reserved, point.capacity, point.waiting)
        assert seen == reckoned(slots_say, point.at, history.range.step), point
    assert sum(point.edits for point in points) > 0


@pytest.mark.parametrize("key", RANGES)
def test_a_range_has_all_its_points_and_ends_now(declare: Declare, clock: Clock, key: str) -> None:
    """One a step, aligned, the last holding the present moment."""
    declare(a=(5, 30 * DAY))
    hold("a")
    clock.advance(8 * DAY)
    roll_up()
    history = read(key)
    of = history.range
    assert len(history.points) == of.count
    assert [point.at for point in known(history)] == [history.starts + of.step * n for n in range(of.count)]
    assert history.starts + of.step * (of.count - 1) <= history.now < history.starts + of.step * of.count
    assert {(point.busy, point.capacity) for point in known(history)} == {(1, 5)}


@pytest.mark.parametrize("key", RANGES)
def test_a_limit_stands_as_it_stood_before_the_range(declare: Declare, clock: Clock, key: str) -> None:
    """What was held before the range and has not moved since shows in all of it, though no row lies in it."""
    declare(a=(5, 30 * DAY))
    hold("a")
    clock.advance(MINUTE)
    roll_up()
    clock.advance(8 * DAY)
    assert {point.busy for point in known(read(key))} == {1}


def test_the_last_point_is_of_the_counters(declare: Declare, clock: Clock) -> None:
    """What happened since the last pass shows at once."""
    declare(a=(1, HOUR))
    hold("a")
    clock.advance(2 * MINUTE)
    roll_up()
    wait("a")
    last = read().points[-1]
    assert last is not None
    assert (last.busy, last.waiting) == (1, 1)


def test_nothing_is_known_before_the_first_slot(declare: Declare, clock: Clock) -> None:
    """No history at all before anything was written down; afterwards blank up to where it begins."""
    declare(a=(1, HOUR))
    assert queries.history("a") is None
    hold("a")
    assert queries.history("a") is None
    clock.advance(10 * MINUTE)
    roll_up()
    history = read()
    assert history.points[:40] == [None] * 40
    assert None not in history.points[-11:]
    assert known(history)[0].at == history.begins
    assert queries.history("nothing") is None
    assert queries.history("\0") is None


def test_what_nobody_wrote_down_is_a_gap(declare: Declare, clock: Clock) -> None:
    """Where the sweep stood still and the limit did not, points are blank, but for the counters of now."""
    declare(a=(5, DAY))
    hold("a")
    clock.advance(10 * MINUTE)
    roll_up()
    clock.advance(MINUTE)
    hold("a")
    assert read().stopped is None
    clock.advance(9 * MINUTE)
    history = read()
    assert history.stopped is not None
    steps = [(history.starts + timedelta(minutes=n), point) for n, point in enumerate(history.points)]
    for at, point in steps[:-1]:
        assert (point is None) == (at < history.begins or at >= history.stopped), at
    last = history.points[-1]
    assert last is not None
    assert last.busy == 2
    # Written down later, the gap closes: the slots themselves know.
    roll_up()
    assert read().stopped is None
    assert None not in read().points[-20:]


def test_a_limit_that_stands_still_has_no_gap(declare: Declare, clock: Clock) -> None:
    """Nothing is written for it, and nothing is missing."""
    declare(a=(5, DAY))
    hold("a")
    clock.advance(10 * MINUTE)
    roll_up()
    clock.advance(30 * MINUTE)
    assert read().stopped is None
    assert None not in read().points[-41:]
    assert {point.busy for point in known(read())} == {1}


def test_what_people_did_and_what_expired_is_marked_where_it_happened(declare: Declare, clock: Clock) -> None:
    """Capacity edits, pauses, resumes, releases by hand, expiries; a release by a program is no mark."""
    declare(a=(2, 8 * MINUTE))
    slots = [hold("a"), hold("a")]
    release(slots[0])
    clock.advance(3 * MINUTE)
    engine.edit("a", actor=OPERATOR, capacity=9)
    engine.edit("a", actor=OPERATOR, max_hold=2 * MINUTE)
    engine.pause("a", actor=OPERATOR)
    clock.advance(3 * MINUTE)
    engine.resume("a", actor=OPERATOR)
    engine.release(slots[1], actor=OPERATOR)
    hold("a")
    clock.advance(3 * MINUTE)
    engine.sweep()
    clock.advance(MINUTE)
    roll_up()
    points = {(x.edits, x.pauses, x.resumes, x.by_hand, x.expired) for x in known(read())}
    assert points == {(0, 0, 0, 0, 0), (1, 1, 0, 0, 0), (0, 0, 1, 1, 0), (0, 0, 0, 0, 1)}


def test_the_longest_wait_is_of_those_that_ended_and_of_the_queues_head(declare: Declare, clock: Clock) -> None:
    """A slot granted at once waited for nothing; the head's wait counts before it ends."""
    declare(a=(1, HOUR))
    first = hold("a")
    clock.advance(MINUTE)
    roll_up()
    assert read().longest_wait == 0
    second = wait("a")
    clock.advance(5 * MINUTE)
    assert 5 * MINUTE <= (read().longest_wait or 0) < 5 * MINUTE + 10 * SECOND
    release(first)
    confirm(second)
    wait("a")
    clock.advance(MINUTE)
    roll_up()
    assert 5 * MINUTE <= (read().longest_wait or 0) < 5 * MINUTE + 10 * SECOND


def test_sparklines_tell_the_last_hour_of_each_limit_asked_for(declare: Declare, clock: Clock) -> None:
    """Twenty steps of three minutes; a limit without history has none."""
    declare(a=(5, DAY), b=(7, DAY), quiet=(1, DAY), other=(1, DAY))
    for limit in ("a", "b", "b", "other"):
        hold(limit)
    clock.advance(2 * HOUR)
    roll_up()
    sparks = queries.sparklines(["a", "b", "quiet", "\0"])
    assert {name: [(x.held, x.capacity) if x else None for x in spark] for name, spark in sparks.items()} == {
        "a": [(1, 5)] * 20,
        "b": [(2, 7)] * 20,
    }
    assert queries.sparklines([]) == {}
