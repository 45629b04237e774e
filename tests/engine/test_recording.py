"""The record of changes, and how long what ended is kept."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from limits import engine, pool, queries
from limits.errors import InvalidValueError
from limits.rules import DAY, HOUR, MINUTE
from tests.conftest import Clock
from tests.engine.steps import CLIENT, OPERATOR, hold, release, wait

type Declare = Callable[..., engine.Synced]


def record(**filters: Any) -> list[tuple[Any, ...]]:
    """Return the record, oldest first."""
    return [
        (change.kind, change.before, change.after, change.actor, change.source, change.reason)
        for change in reversed(queries.changes(**filters).items)
    ]


def values(capacity: int, max_hold: int) -> str:
    """Return what the record keeps of a declared limit."""
    return json.dumps({"capacity": capacity, "max_hold": max_hold}).replace('":', '" :')


def test_an_override_equal_to_the_declared_value_is_told_from_its_reset(declare: Declare) -> None:
    """O5, O7: both leave the number as it is."""
    declare(a=(2, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=2)
    engine.reset("a", "capacity", actor=OPERATOR)
    assert [(kind, before, after) for kind, before, after, *_ in record(limit="a")[1:]] == [
        ("capacity", "2", "2"),
        ("reset_capacity", "2", "2"),
    ]


def test_every_change_by_a_person_is_recorded(declare: Declare) -> None:
    """O7: who, from where, before, after, and the reason if there is one; whole numbers, the plain unit."""
    declare(a=(2, HOUR))
    bea = engine.Actor(name="bea", source="cli")
    api = engine.Actor(name="key-7", source="api")
    engine.edit("a", actor=OPERATOR, capacity=5, max_hold=MINUTE, reason="busy day")
    engine.edit("a", actor=bea, capacity=6)
    engine.pause("a", actor=api, reason="repairs")
    engine.resume("a", actor=bea)
    engine.reset("a", "capacity", actor=OPERATOR)
    engine.reset("a", "max_hold", actor=bea, reason="over")
    assert record(limit="a")[1:] == [
        ("capacity", "2", "5", "ana", "studio", "busy day"),
        ("max_hold", "3600000", "60000", "ana", "studio", "busy day"),
        ("capacity", "5", "6", "bea", "cli", None),
        ("pause", "handing out", "paused", "key-7", "api", "repairs"),
        ("resume", "paused", "handing out", "bea", "cli", None),
        ("reset_capacity", "6", "2", "ana", "studio", None),
        ("reset_max_hold", "60000", "3600000", "bea", "cli", "over"),
    ]


def test_the_record_says_when_by_the_databases_clock(declare: Declare, clock: Clock) -> None:
    """O7, F9."""
    declare(a=(2, HOUR))
    engine.pause("a", actor=OPERATOR)
    clock.advance(HOUR)
    engine.resume("a", actor=OPERATOR)
    resumed, paused, _declared = queries.changes(limit="a").items
    assert 3_600 <= (resumed.at - paused.at).total_seconds() < 3_660


def test_every_declared_value_changed_by_a_sync_is_recorded(declare: Declare) -> None:
    """O7: its actor is the deploy; overridden or not."""
    declare(a=(2, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=9)
    declare(a=(3, MINUTE))
    declare(a=(3, MINUTE))
    declare(b=(1, HOUR))
    declare(a=(4, MINUTE))
    assert record(limit="a") == [
        ("declare", None, values(2, HOUR), "deploy", "deploy", None),
        ("capacity", "2", "9", "ana", "studio", None),
        ("capacity", "2", "3", "deploy", "deploy", None),
        ("max_hold", "3600000", "60000", "deploy", "deploy", None),
        ("undeclare", values(3, MINUTE), None, "deploy", "deploy", None),
        ("declare", None, values(4, MINUTE), "deploy", "deploy", None),
        ("capacity", "3", "4", "deploy", "deploy", None),
    ]


def test_a_release_by_a_person_is_recorded_with_its_slot(declare: Declare) -> None:
    """O7: a program's own release is no change by a person."""
    declare(a=(2, HOUR))
    mine, theirs = hold("a", label="call-1"), hold("a", label="call-2")
    release(theirs)
    engine.release(mine, actor=OPERATOR, reason="hung up")
    engine.release(mine, actor=OPERATOR, reason="hung up")
    change, *older = queries.changes(limit="a").items
    assert (change.kind, change.before, change.after) == ("release", "busy", "released")
    assert (change.slot_id, change.label, change.reason) == (mine, "call-1", "hung up")
    assert [one.kind for one in older] == ["declare"]


@pytest.mark.parametrize(
    "rewriting",
    [
        "UPDATE limits.change SET actor = 'nobody'",
        "DELETE FROM limits.change",
        "TRUNCATE limits.change",
    ],
)
def test_the_record_cannot_be_rewritten(declare: Declare, box: pool.Database, rewriting: Any) -> None:
    """O7: append-only."""
    declare(a=(2, HOUR))
    with box.connection() as connection, pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        connection.execute(rewriting)
    assert len(record()) == 1


def test_the_record_is_read_in_pages_newest_first(declare: Declare) -> None:
    """O7: no entry twice, none left out, and a made-up page is refused."""
    declare(a=(1, HOUR), b=(1, HOUR))
    for n in range(2, 12):
        engine.edit("a", actor=OPERATOR, capacity=n)
    seen: list[str | None] = []
    after = None
    while True:
        page = queries.changes(limit="a", after=after, count=4)
        seen += [change.after for change in page.items]
        after = page.next
        if after is None:
            break
    assert seen == [*map(str, range(11, 1, -1)), values(1, HOUR)]
    assert len(queries.changes().items) == 12
    for wrong in ("x", "-1", "1.5", "9" * 30, "\uff11"):
        with pytest.raises(InvalidValueError, match="after"):
            queries.changes(after=wrong)


def test_what_ended_long_ago_is_deleted_in_small_batches(declare: Declare, clock: Clock) -> None:
    """O7: live slots stay however old they are, and so does what ended lately; the record outlives it all."""
    declare(a=(10, 30 * DAY), b=(10, 30 * DAY))
    old = [hold(limit) for limit in "aabba" for _ in range(2)]
    for slot in old:
        engine.release(slot, actor=OPERATOR)
    clock.advance(DAY)
    young = hold("a")
    release(young)
    clock.advance(29 * DAY + HOUR)
    live = [hold("a"), wait_behind("b")]
    assert [engine.prune(batch=4) for _ in range(4)] == [4, 4, 2, 0]
    assert all(queries.slot(slot) is None for slot in old)
    assert all(queries.slot(slot) is not None for slot in (young, *live))
    assert sum(change.kind == "release" for change in queries.changes().items) == 10
    clock.advance(40 * DAY)
    assert engine.prune() == 1
    assert all(queries.slot(slot) is not None for slot in live)


def wait_behind(limit: str) -> str:
    while (asked := engine.request(limit, key=f"fill-{len(queries.slots(limit, state='busy').items)}")).state == "busy":
        pass
    assert asked.slot_id is not None
    return asked.slot_id


def test_every_kind_of_end_is_pruned(declare: Declare, clock: Clock) -> None:
    """O7: and the retention is the caller's setting."""
    declare(a=(1, HOUR))
    hold("a")
    wait("a", timeout=MINUTE)
    engine.withdraw(wait("a"), actor=CLIENT)
    clock.advance(HOUR)
    engine.sweep()
    release(hold("a"))
    clock.advance(3 * DAY)
    assert engine.prune(keep_days=4) == 0
    assert engine.prune(keep_days=2) == 4


def test_processes_that_ended_long_ago_are_deleted_too(declare: Declare, box: pool.Database) -> None:
    """Q7: they are known by the real clock."""
    declare(a=(1, HOUR))
    old, young = engine.join("client", name="old"), engine.join("client", name="young")
    box.fetch(
        "UPDATE limits.worker SET gone_since = joined_at, ended_at = clock_timestamp() - interval '31 days'"
        " WHERE id = %s RETURNING id",
        [old],
    )
    engine.prune()
    assert box.fetch("SELECT id FROM limits.worker") == [{"id": young}]
