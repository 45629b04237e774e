"""A limit's history, rolled up minute by minute, is what its slots' own timestamps say."""

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from limits import engine, pool
from limits.rules import DAY, HOUR, MINUTE, SECOND
from tests.conftest import Clock
from tests.engine.hindsight import moments, reckoned, traffic
from tests.engine.steps import OPERATOR, confirm, hold, release, wait

type Declare = Callable[..., engine.Synced]
STEP = timedelta(minutes=1)


def rows(box: pool.Database, step: int = 60) -> list[dict[str, Any]]:
    """Return the history's rows of one step, oldest first."""
    return box.fetch("SELECT * FROM limits.history WHERE step = %s ORDER BY at", [step])


@pytest.mark.parametrize("seed", range(4))
def test_history_is_what_the_slots_say(box: pool.Database, declare: Declare, clock: Clock, seed: int) -> None:
    """Rolled up at random moments, in batches of any size, it equals a count over all slots for each minute."""
    declare(a=(3, 4 * MINUTE))
    rng = random.Random(seed)
    for _, _ in zip(range(250), traffic(clock, seed), strict=False):
        if rng.random() < 0.1:
            engine.roll_up(batch=rng.choice([1, 5, 1_000]))
    clock.advance(MINUTE)
    while engine.roll_up(batch=3):
        pass
    found = {row["at"]: (row["busy"], row["reserved"], row["capacity"], row["waiting"]) for row in rows(box)}
    assert len(found) > 20
    known = moments(box, 3)
    for minute, seen in found.items():
        assert seen == reckoned(known, minute, STEP), minute
    ends = Counter(row["state"] for row in box.fetch("SELECT state FROM limits.slot"))
    assert sum(row["expired"] for row in rows(box)) == ends["expired"] > 0


def test_a_slot_held_for_days_counts_in_every_minute_since(box: pool.Database, declare: Declare, clock: Clock) -> None:
    """It ends long after the minutes it was busy in were written down; they stay true."""
    declare(a=(2, 30 * DAY))
    old = hold("a")
    clock.advance(6 * DAY)
    release(hold("a"))
    clock.advance(MINUTE)
    engine.roll_up()
    assert [(row["busy"], row["last_busy"]) for row in rows(box)][-1] == (2, 1)
    release(old)
    clock.advance(MINUTE)
    engine.roll_up()
    assert [(row["busy"], row["last_busy"]) for row in rows(box)][-1] == (1, 0)


def test_a_quarter_of_an_hour_is_the_highest_of_its_minutes(box: pool.Database, declare: Declare, clock: Clock) -> None:
    """One row for fifteen, whenever they were rolled up."""
    declare(a=(5, DAY))
    for minutes in (1, 4, 9, 20):
        hold("a")
        clock.advance(minutes * MINUTE)
        engine.roll_up()
    assert rows(box, 900)
    for quarter in rows(box, 900):
        minutes_of = [row for row in rows(box) if quarter["at"] <= row["at"] < quarter["at"] + 15 * STEP]
        assert quarter["busy"] == max(row["busy"] for row in minutes_of)
        assert quarter["last_busy"] == minutes_of[-1]["last_busy"]


def test_an_idle_limit_writes_nothing(box: pool.Database, declare: Declare, clock: Clock) -> None:
    """How it stood last holds; a thousand quiet limits cost no rows."""
    declare(a=(2, DAY), quiet=(2, DAY))
    hold("a")
    clock.advance(MINUTE)
    engine.roll_up()
    before = rows(box)
    clock.advance(HOUR)
    engine.roll_up()
    assert len(rows(box)) <= len(before) + 1
    clock.advance(HOUR)
    latest = rows(box)
    engine.roll_up()
    assert rows(box) == latest


def test_old_history_goes_but_for_how_the_limit_has_stood_since(
    box: pool.Database, declare: Declare, clock: Clock
) -> None:
    """Minutes are kept for 7 hours, quarters for 8 days, and one row before that."""
    declare(a=(5, 30 * DAY))
    for _ in range(3):
        hold("a")
        clock.advance(9 * HOUR)
        engine.roll_up()
    now = datetime.now(UTC) + timedelta(hours=27)
    assert sum(row["at"] < now - timedelta(hours=7, minutes=2) for row in rows(box)) <= 1
    clock.advance(10 * DAY)
    wait_for = hold("a")
    release(wait_for)
    clock.advance(MINUTE)
    engine.roll_up()
    assert next(row["last_busy"] for row in rows(box)) == 3


def test_longest_wait_and_releases_by_hand_are_counted(box: pool.Database, declare: Declare, clock: Clock) -> None:
    """A wait counts in the minute in which it ended."""
    declare(a=(1, HOUR))
    first = hold("a")
    second = wait("a")
    clock.advance(5 * MINUTE)
    engine.release(first, actor=OPERATOR)
    confirm(second)
    clock.advance(MINUTE)
    engine.roll_up()
    assert sum(row["by_hand"] for row in rows(box)) == 1
    longest = max(row["longest_wait"] for row in rows(box) if row["longest_wait"] is not None)
    assert 5 * MINUTE <= longest < 5 * MINUTE + 10 * SECOND
