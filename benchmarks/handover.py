"""How soon a waiting process knows that it was granted a slot, with real processes on the real listener.

The grant commits in the releaser's transaction. From the commit on, which the releaser learns of as its call
returns, it counts until the waiter's process knows.
"""

import multiprocessing
import statistics
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any, Final

from benchmarks import pgbench, scripts
from benchmarks.measure import Compared, Rounds, compare
from limits import engine
from limits.pool import Database
from limits.wakeups import Wakeups

WORKERS: Final = 8
HOLD: Final = 0.005
_ACTOR: Final = engine.Actor(name="bench", source="client")


@dataclass(slots=True)
class Seen:
    """What one worker saw, on the clock that all processes of the machine share."""

    known: dict[str, float] = field(default_factory=dict)
    returned: dict[str, float] = field(default_factory=dict)


def measure(quantile: float) -> Callable[[Database, Rounds], Compared]:
    """Return a measure of that quantile of the hand-over, in milliseconds, against a durable insert's median."""

    def compared(db: Database, rounds: Rounds) -> Compared:
        return compare(
            lambda: _quantile(delays(db, seconds=rounds.seconds), quantile),
            lambda: statistics.median(pgbench.latencies(db, scripts.INSERT, seconds=rounds.seconds)),
            rounds=rounds.count,
        )

    return compared


def delays(db: Database, *, seconds: float) -> list[float]:
    """Let the workers pass a limit's slots on for so long; return the milliseconds of each hand-over."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, context.Pool(WORKERS) as processes:
        start = manager.Barrier(WORKERS)
        seen = processes.starmap(_work, [(db.url, start, seconds)] * WORKERS, chunksize=1)
    known = {slot: at for worker in seen for slot, at in worker.known.items()}
    returned = {slot: at for worker in seen for slot, at in worker.returned.items()}
    return [
        max(0.0, known[row["granted"]] - returned[row["released"]]) * 1_000
        for row in db.fetch(_HANDED_OVER)
        if row["granted"] in known and row["released"] in returned
    ]


# A release and the grant it made bear one instant.
_HANDED_OVER: Final = """
    SELECT g.id::text AS granted, r.id::text AS released
    FROM limits.slot g JOIN limits.slot r ON r.limit_id = g.limit_id AND r.ended_at = g.granted_at AND r.id <> g.id
    WHERE g.limit_id = (SELECT l.id FROM limits.limit l WHERE l.name = 'handover') AND r.ended_at IS NOT NULL
"""


def _quantile(values: list[float], quantile: float) -> float:
    return sorted(values)[int(quantile * (len(values) - 1))]


def _work(url: str, start: Barrier, seconds: float) -> Seen:
    db = Database(url, application_name="benchmark worker")
    wakeups = Wakeups(db)
    seen = Seen()
    process = wakeups.process_id()
    start.wait(60)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        asked: Any = engine.request("handover", key=uuid.uuid4().hex, worker_id=process, db=db)
        slot_id = str(asked.slot_id)
        if asked.state == "waiting":
            with wakeups.watch(slot_id) as waiter:
                wakeups.look(waiter)
                while asked.state == "waiting" and waiter.wait(10):
                    seen.known[slot_id] = time.monotonic()
                    asked = engine.confirm(slot_id, db=db)
        time.sleep(HOLD)
        engine.release(slot_id, actor=_ACTOR, db=db)
        seen.returned[slot_id] = time.monotonic()
    wakeups.close()
    db.close()
    return seen
