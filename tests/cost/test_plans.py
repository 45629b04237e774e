"""Every statement finds its slots by an index, also where it was planned while the table was empty."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from benchmarks.load import load
from limits import engine, queries
from limits.pool import Database
from tests.cost.conftest import ACTOR, ask, drop_box, give_back, make_box
from tests.postgres import Server

COUNT = 10_000
# More than any operation here has to look at: a page of a hundred, twice, and the like. A walk over a list is 20,000.
FEW = 1_000


def pair(db: Database) -> None:
    give_back(db, ask(db, "held"))


def ask_again(db: Database) -> None:
    for _ in range(2):
        slot = engine.request("other", key="again", db=db)
    give_back(db, slot)


def hand_on(db: Database) -> None:
    for held in queries.slots("queue", state="busy", count=1, db=db).items:
        engine.release(held.id, actor=ACTOR, db=db)
    asked = ask(db, "queue")
    head = queries.slots("queue", state="reserved", count=1, db=db).items
    engine.confirm(head[0].id if head else str(asked.slot_id), db=db)


def withdraw(db: Database) -> None:
    engine.withdraw(str(ask(db, "queue").slot_id), actor=ACTOR, db=db)


def abandon(db: Database) -> None:
    for limit in ("held", "queue"):
        engine.request(limit, key="abandoned", db=db)
        assert engine.abandon(limit, "abandoned", actor=ACTOR, db=db)


def override(db: Database) -> None:
    for capacity in (99_999, 100_000):
        engine.edit("held", actor=ACTOR, capacity=capacity, db=db)
    engine.reset("held", "capacity", actor=ACTOR, db=db)


def pause(db: Database) -> None:
    engine.pause("queue", actor=ACTOR, db=db)
    engine.resume("queue", actor=ACTOR, db=db)


def sweep(db: Database) -> None:
    client = engine.join("client", name="gone", db=db)
    db.fetch("UPDATE limits.worker SET gone_since = clock_timestamp() - interval '1 hour' RETURNING id")
    with suppress(engine.ProcessGoneError):
        engine.request("queue", key=f"gone-{client}", worker_id=client, db=db)
    assert ask(db, "brief").state == "busy"
    expired = 0
    while not expired:
        expired = engine.sweep(db=db).expired
    engine.next_wake(db=db)


def prune(db: Database) -> None:
    engine.prune(db=db)
    engine.prune(keep_days=0, batch=10, db=db)


def list_page(db: Database) -> None:
    queries.limits(db=db)
    queries.near_names("hedl", db=db)
    queries.changes(limit="held", db=db)


def detail_page(db: Database) -> None:
    for limit in ("held", "queue"):
        queries.limit(limit, db=db)
        for state in ("busy", "reserved", "waiting"):
            queries.slots(limit, state=state, count=20, db=db)
        queries.slots(limit, state="busy", order="expiry", count=20, db=db)
        queries.expiries(limit, count=3, db=db)
        queries.last_expiry(limit, db=db)
        head = queries.head(limit, db=db)
        if head is not None:
            queries.slot(head.id, db=db)


def search(db: Database) -> None:
    for q in ("call-777", "run-777", "00000000-0000-7000-8000-000100000007", "nobody"):
        queries.slots("held", state="busy", q=q, count=10, db=db)
        # A position is counted from the head on: what is far from it costs more.
        queries.slots("queue", state="waiting", q=f"{q}-and-more", count=10, db=db)


def search_elsewhere(db: Database) -> None:
    """Look for what ten thousand have, but none in this state."""
    for q in ("call-", "run-"):
        queries.slots("held", state="waiting", q=q, db=db)
        queries.slots("queue", state="busy", q=q, db=db)


OPERATIONS = [
    pair, ask_again, hand_on, withdraw, abandon, override, pause, sweep, prune, list_page, detail_page, search, search_elsewhere,
]  # fmt: skip


@pytest.fixture(scope="module")
def box_planned_empty(server: Server) -> Iterator[Database]:
    """Lend a box whose session planned everything for good while there was next to nothing, and then got slots."""
    db = make_box(server, "test_cost_plans")
    for _ in range(8):
        for operation in OPERATIONS:
            operation(db)
    load(db, "held", state="busy", count=COUNT, analyse=False)
    load(db, "queue", state="waiting", count=COUNT, analyse=False)
    yield db
    drop_box(server, db, "test_cost_plans")


def looked_at(db: Database) -> tuple[int, int]:
    """Return how often the slots were scanned from end to end, and how many rows were found by an index, so far."""
    db.fetch("SELECT pg_stat_force_next_flush()")
    row = db.fetch(
        "SELECT seq_scan, (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relid = t.relid)::bigint AS read"
        " FROM pg_stat_user_tables t WHERE t.schemaname = 'limits' AND t.relname = 'slot'"
    )[0]
    return row["seq_scan"], row["read"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_nothing_walks_over_the_slots(box_planned_empty: Database, operation: Callable[[Database], None]) -> None:
    """No sequential scan of the slots, and no index read from end to end, whenever the plan was made."""
    db = box_planned_empty
    operation(db)
    scans, read = looked_at(db)
    operation(db)
    scans_after, read_after = looked_at(db)
    assert scans_after - scans == 0
    assert read_after - read < FEW
