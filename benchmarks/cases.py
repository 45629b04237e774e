"""The rows of the table, each with what it measures, against which floor, and its bar."""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks import handover, load, pgbench, scripts
from benchmarks.measure import Bar, Compared, Result, Rounds, compare
from limits import engine
from limits.pool import Database

ACTOR: Final = engine.Actor(name="bench", source="client")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row before it is measured."""

    name: str
    title: str
    bar: Bar
    unit: str = "pairs/s"
    measure: Callable[[Database, Rounds], Compared]

    def run(self, db: Database, rounds: Rounds) -> Result:
        """Measure the row."""
        seen = self.measure(db, rounds)
        return Result(
            name=self.name, title=self.title, unit=self.unit, bar=self.bar,
            seen=seen.seen, floor=seen.floor, ratios=seen.ratios,
        )  # fmt: skip


def _scripts(script: str, floor: str, clients: int) -> Callable[[Database, Rounds], Compared]:
    def measure(db: Database, rounds: Rounds) -> Compared:
        return compare(
            lambda: pgbench.rate(db, script, clients=clients, seconds=rounds.seconds),
            lambda: pgbench.rate(db, floor, clients=clients, seconds=rounds.seconds),
            rounds=rounds.count,
        )

    return measure


def _from_python(db: Database, rounds: Rounds) -> Compared:
    def pairs() -> float:
        done, begun = 0, time.perf_counter()
        while (passed := time.perf_counter() - begun) < rounds.seconds:
            slot = engine.request("hot", key=uuid.uuid4().hex, db=db)
            engine.release(str(slot.slot_id), actor=ACTOR, db=db)
            done += 1
        return done / passed

    return compare(pairs, lambda: pgbench.rate(db, scripts.F1, clients=1, seconds=rounds.seconds), rounds=rounds.count)


def _full(db: Database, rounds: Rounds) -> Compared:
    return compare(
        lambda: _hand_on(db, "full", rounds.seconds),
        lambda: pgbench.rate(db, scripts.F1, clients=1, seconds=rounds.seconds),
        rounds=rounds.count,
    )


def _held(db: Database, rounds: Rounds) -> Compared:
    # The script takes the last free slot.
    load.load(db, "held-many", state="busy", count=99_999)
    return compare(
        lambda: pgbench.rate(db, scripts.pair("held-many"), clients=1, seconds=rounds.seconds),
        lambda: pgbench.rate(db, scripts.pair("held-none"), clients=1, seconds=rounds.seconds),
        rounds=rounds.count,
    )


def _waiting(db: Database, rounds: Rounds) -> Compared:
    _held_of(db, "queue-many")
    first = _number(db, "SELECT last_number + 1 AS number FROM limits.limit WHERE name = 'queue-many'")
    load.load(db, "queue-many", state="waiting", count=1_000_000)
    limit_id = _number(db, "SELECT id AS number FROM limits.limit WHERE name = 'queue-many'")
    script = scripts.handed_to_head("queue-many", limit_id)

    def long_queue() -> float:
        held = db.fetch(_HELD, ("queue-many",))[0]
        head = max(first, held["number"] + 1)
        variables = {"held": held["id"], "head": head}
        return pgbench.rate(db, script, clients=1, seconds=rounds.seconds, variables=variables)

    return compare(long_queue, lambda: _hand_on(db, "queue-none", rounds.seconds), rounds=rounds.count)


_HELD: Final = """
    SELECT s.id::text, s.number FROM limits.slot s JOIN limits.limit l ON l.id = s.limit_id
    WHERE l.name = %s AND s.state IN ('busy', 'reserved') AND s.ended_at IS NULL
"""


def _hand_on(db: Database, limit: str, seconds: int) -> float:
    variables = {"held": _held_of(db, limit)}
    return pgbench.rate(db, scripts.handed_on(limit), clients=1, seconds=seconds, variables=variables)


def _held_of(db: Database, limit: str) -> str:
    """Return the one slot that is held of a limit of capacity 1; nobody waits for it. Take it, if it is free."""
    for row in db.fetch(_HELD, (limit,)):
        return str(row["id"])
    return str(engine.request(limit, key=uuid.uuid4().hex, db=db).slot_id)


def _number(db: Database, statement: str) -> int:
    return int(db.fetch(statement)[0]["number"])


CASES: Final = [
    Case(name="hot-1", title="hot limit, 1 client, to f1", bar=Bar(ratio=0.40),
         measure=_scripts(scripts.pair("hot"), scripts.F1, 1)),
    Case(name="hot-8", title="hot limit, 8 clients, to f2hot", bar=Bar(ratio=0.65),
         measure=_scripts(scripts.pair("hot"), scripts.F2_HOT, 8)),
    Case(name="hot-32", title="hot limit, 32 clients, to f2hot", bar=Bar(ratio=0.85),
         measure=_scripts(scripts.pair("hot"), scripts.F2_HOT, 32)),
    Case(name="many-32", title="100 limits, 32 clients, to f1", bar=Bar(ratio=0.25),
         measure=_scripts(scripts.pair_on_many(), scripts.F1, 32)),
    Case(name="python-1", title="from Python, hot, 1 caller, to f1", bar=Bar(ratio=0.30), measure=_from_python),
    Case(name="full-1", title="full limit (wait, grant, confirm), 1 client, to f1", bar=Bar(ratio=0.18),
         measure=_full),
    Case(name="held", title="100,000 held, to empty", bar=Bar(ratio=0.7), measure=_held),
    Case(name="waiting", title="1,000,000 waiting, to none", bar=Bar(ratio=0.7), measure=_waiting),
    Case(name="handover-p50", title="hand-over, commit to known, 8 workers, p50, to a durable insert's p50",
         bar=Bar(ratio=6, at_least=False), unit="ms", measure=handover.measure(0.50)),
    Case(name="handover-p99", title="hand-over, p99, to a durable insert's p50",
         bar=Bar(ratio=25, at_least=False), unit="ms", measure=handover.measure(0.99)),
]  # fmt: skip
