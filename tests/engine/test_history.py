"""A limit's history, rolled up minute by minute, is what its slots' own timestamps say."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from limits import engine, pool
from limits.rules import DAY, HOUR, MINUTE, SECOND
from tests.conftest import Clock
from tests.engine.steps import CLIENT, OPERATOR, ask, confirm, hold, ids, release, wait

type Declare = Callable[..., engine.Synced]
type Moment = tuple[datetime, int, int, int, int]
"""An instant, and how many were busy, reserved, waiting, and might have been held, from then on."""

STEP = timedelta(minutes=1)


def rows(box: pool.Database, step: int = 60) -> list[dict[str, Any]]:
    """Return the history's rows of one step, oldest first."""
    return box.fetch("SELECT * FROM limits.history WHERE step = %s ORDER BY at", [step])


def moments(box: pool.Database, capacity: int) -> list[Moment]:
    """Return how the limit stood after each event, by counting anew over all slots and changes each time."""
    lives = box.fetch("SELECT asked_at, granted_at, confirmed_at, ended_at FROM limits.slot")
    raises = box.fetch("SELECT at, after::int AS value FROM limits.change WHERE kind LIKE '%%capacity' ORDER BY id")
    instants = {at for life in lives for at in life.values() if at is not None} | {change["at"] for change in raises}

    def within(start: datetime | None, end: datetime | None, at: datetime) -> bool:
        return start is not None and start <= at and (end is None or at < end)

    return [
        (
            at,
            sum(within(x["confirmed_at"], x["ended_at"], at) for x in lives),
            sum(within(x["granted_at"], x["confirmed_at"] or x["ended_at"], at) for x in lives),
            sum(within(x["asked_at"], x["granted_at"] or x["ended_at"], at) for x in lives),
            ([capacity] + [change["value"] for change in raises if change["at"] <= at])[-1],
        )
        for at in sorted(instants)
    ]


def reckoned(box: pool.Database, capacity: int, minute: datetime) -> tuple[int, ...]:
    """Return a minute's busy, reserved, capacity, waiting as the slots say, the slow way."""
    known = moments(box, capacity)
    standing = [(minute, *moment[1:]) for moment in known if moment[0] <= minute][-1:]
    seen = standing + [moment for moment in known if minute < moment[0] < minute + STEP]
    _, busy, reserved, _, then = max(seen, key=lambda m: (m[1] + m[2], m[1], m[0]))
    return busy, reserved, then, max(moment[3] for moment in seen)


def traffic(clock: Clock, seed: int) -> Iterator[None]:
    """Make random traffic, a step at a time; nobody confirms too late, since a lapse leaves no trace in a slot."""
    rng = random.Random(seed)
    while True:
        clock.advance(rng.choice([0, SECOND, 7 * SECOND, 20 * SECOND]))
        for slot_id in ids("a", "reserved"):
            confirm(slot_id)
        match rng.randrange(8):
            case 0 | 1 | 2 | 3:
                ask("a", timeout=rng.choice([MINUTE, HOUR]))
            case 4 | 5:
                for slot_id in rng.sample(held := ids("a", "busy"), min(len(held), 1)):
                    release(slot_id)
            case 6:
                for slot_id in rng.sample(queue := ids("a", "waiting"), min(len(queue), 1)):
                    engine.withdraw(slot_id, actor=CLIENT)
            case 7:
                engine.edit("a", actor=OPERATOR, capacity=rng.randint(1, 6))
        yield


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
    for minute, seen in found.items():
        assert seen == reckoned(box, 3, minute), minute
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
