"""How a limit stood, counted anew from its slots and changes, the slow way; and traffic to try that on."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from limits import engine, pool
from limits.rules import HOUR, MINUTE, SECOND
from tests.conftest import Clock
from tests.engine.steps import CLIENT, OPERATOR, ask, confirm, ids, release

type Moment = tuple[datetime, int, int, int, int]
"""An instant, and how many were busy, reserved, waiting, and might have been held, from then on."""


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


def reckoned(known: list[Moment], start: datetime, step: timedelta) -> tuple[int, ...]:
    """Return a step's busy, reserved, capacity, waiting as `moments` of a limit say."""
    standing = [(start, *moment[1:]) for moment in known if moment[0] <= start][-1:]
    seen = standing + [moment for moment in known if start < moment[0] < start + step]
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
