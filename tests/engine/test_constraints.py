"""The tables refuse impossible rows, and the functions a transaction they can't be right in."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from limits import engine, pool
from limits.errors import InvalidValueError
from limits.rules import HOUR
from tests.engine.steps import OPERATOR, counts, hold, ids, release, state, wait

type Declare = Callable[..., engine.Synced]

NOW = "clock_timestamp()"
LATER = "clock_timestamp() + interval '1 minute'"
LATEST = "clock_timestamp() + interval '1 hour'"


@pytest.fixture
def rows(declare: Declare, box: pool.Database) -> dict[str, str]:
    """Make one slot of each state."""
    declare(a=(2, HOUR), b=(1, 1))
    expired = hold("b")
    busy, released = hold("a"), hold("a")
    reserved, waiting = wait("a"), wait("a")
    withdrawn, timed_out = wait("a"), wait("a", timeout=1)
    release(released)
    engine.withdraw(withdrawn, actor=OPERATOR)
    while state(timed_out) != "timed_out" or state(expired) != "expired":
        engine.sweep()
    made = {
        "busy": busy, "reserved": reserved, "waiting": waiting, "released": released,
        "withdrawn": withdrawn, "timed_out": timed_out, "expired": expired,
    }  # fmt: skip
    assert {name: state(slot) for name, slot in made.items()} == {name: name for name in made}
    return made


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("waiting", "state = 'asleep'"),
        ("waiting", "state = 'busy'"),
        ("waiting", "state = 'reserved'"),
        ("waiting", f"granted_at = {NOW}"),
        ("waiting", f"expires_at = {LATER}"),
        ("waiting", f"reserved_until = {LATER}"),
        ("waiting", f"confirmed_at = {NOW}"),
        ("waiting", f"ended_at = {NOW}"),
        ("waiting", "release_key = 'k'"),
        ("waiting", "state = 'timed_out'"),
        ("waiting", "state = 'withdrawn'"),
        ("reserved", "state = 'waiting'"),
        ("reserved", "state = 'busy'"),
        ("reserved", "reserved_until = NULL"),
        ("reserved", "expires_at = NULL"),
        ("reserved", "granted_at = NULL"),
        ("reserved", f"confirmed_at = {LATER}"),
        ("reserved", f"ended_at = {LATER}"),
        ("reserved", "reserved_until = expires_at + interval '1 ms'"),
        ("reserved", "expires_at = granted_at, reserved_until = granted_at"),
        ("busy", "state = 'waiting'"),
        ("busy", "state = 'reserved'"),
        ("busy", "expires_at = NULL"),
        ("busy", "confirmed_at = NULL"),
        ("busy", "granted_at = NULL"),
        ("busy", "confirmed_at = granted_at - interval '1 ms'"),
        ("busy", "expires_at = granted_at - interval '1 ms'"),
        ("busy", f"reserved_until = {LATER}"),
        ("busy", f"ended_at = {LATEST}"),
        ("busy", "state = 'released'"),
        ("busy", "state = 'expired'"),
        ("busy", f"state = 'timed_out', ended_at = {LATEST}"),
        ("busy", f"state = 'withdrawn', ended_at = {LATEST}"),
        ("busy", "release_key = 'k'"),
        ("released", "ended_at = NULL"),
        ("released", "state = 'busy'"),
        ("released", "granted_at = NULL"),
        ("released", "confirmed_at = NULL"),
        ("expired", "ended_at = NULL"),
        ("expired", "release_key = 'k'"),
        ("expired", "state = 'busy'"),
        ("timed_out", "ended_at = NULL"),
        ("timed_out", "state = 'waiting'"),
        ("timed_out", f"granted_at = {NOW}"),
        ("timed_out", "state = 'expired'"),
        ("withdrawn", "ended_at = NULL"),
        ("withdrawn", "state = 'busy'"),
        ("withdrawn", f"granted_at = {NOW}, expires_at = {LATER}, confirmed_at = {NOW}"),
    ],
)
def test_a_slot_cannot_be_what_no_slot_is(rows: dict[str, str], box: pool.Database, before: str, change: Any) -> None:
    """A3, F1: whatever wrote it, the table refuses."""
    with box.connection() as connection, pytest.raises(psycopg.errors.CheckViolation, match="slot_possible"):
        connection.execute("UPDATE limits.slot SET " + change + " WHERE id = %s", [rows[before]])  # noqa: S608  (the cases above)
    assert state(rows[before]) == before


@pytest.mark.parametrize("column", ["state", "number", "key", "asked_at", "times_out_at", "limit_id"])
def test_every_slot_has_what_every_slot_needs(rows: dict[str, str], box: pool.Database, column: Any) -> None:
    """Q1, A5."""
    with box.connection() as connection, pytest.raises(psycopg.errors.NotNullViolation):
        connection.execute("UPDATE limits.slot SET " + column + " = NULL WHERE id = %s", [rows["waiting"]])  # noqa: S608  (the cases above)


def test_one_call_cannot_have_two_live_slots(rows: dict[str, str], box: pool.Database) -> None:
    """A5: by the table itself; an ended one is no hindrance."""
    statement = "UPDATE limits.slot SET key = (SELECT key FROM limits.slot WHERE id = %s) WHERE id = %s"
    with box.connection() as connection:
        with pytest.raises(psycopg.errors.UniqueViolation, match="slot_key"):
            connection.execute(statement, [rows["busy"], rows["waiting"]])
        connection.execute(statement, [rows["released"], rows["waiting"]])


def test_no_two_waiters_have_the_same_place(rows: dict[str, str], box: pool.Database) -> None:
    """Q1."""
    wait("a")
    with box.connection() as connection, pytest.raises(psycopg.errors.UniqueViolation, match="slot_number"):
        connection.execute("UPDATE limits.slot SET number = 99 WHERE state = 'waiting'")


@pytest.mark.parametrize(
    "change",
    [
        "capacity = 0", "capacity = 100001", "declared_capacity = 0", "declared_capacity = 100001",
        "max_hold = 0", "max_hold = 2592000001", "declared_max_hold = 0", "declared_max_hold = 2592000001",
        "busy = -1", "reserved = -1", "waiting = -1",
        "name = 'A'", "name = ''", "name = 'a' || chr(10)", "name = repeat('a', 65)", "name = 'ñ'",
        "paused_at = now()", "paused_by = 'ana'", "paused_reason = 'why'",
    ],
)  # fmt: skip
def test_a_limit_cannot_be_what_no_limit_is(declare: Declare, box: pool.Database, change: Any) -> None:
    """D1, D2, O4, O6."""
    declare(a=(2, HOUR))
    with box.connection() as connection, pytest.raises(psycopg.errors.CheckViolation, match="limit_possible"):
        connection.execute("UPDATE limits.limit SET " + change)  # noqa: S608  (the cases above)


def test_a_name_stands_for_one_limit(declare: Declare, box: pool.Database) -> None:
    """D1."""
    declare(a=(2, HOUR), b=(2, HOUR))
    with box.connection() as connection, pytest.raises(psycopg.errors.UniqueViolation, match="limit_once"):
        connection.execute("UPDATE limits.limit SET name = 'a'")


@pytest.mark.parametrize(
    ("field", "value"),
    [("capacity", 0), ("capacity", 100_001), ("max_hold", 0), ("max_hold", 2_592_000_001), ("name", 5)],
)
def test_an_override_cannot_be_out_of_range(declare: Declare, box: pool.Database, field: str, value: int) -> None:
    """O4."""
    declare(a=(2, HOUR))
    engine.edit("a", actor=OPERATOR, capacity=3)
    with box.connection() as connection, pytest.raises(psycopg.errors.CheckViolation, match="override_value"):
        connection.execute("UPDATE limits.override SET field = %s, value = %s", [field, value])


def test_a_box_has_one_workspace_and_the_clock_one_shift(declare: Declare, box: pool.Database) -> None:
    """D6, F9."""
    declare(a=(2, HOUR))
    with box.connection() as connection:
        for statement in (
            "INSERT INTO limits.box (id) VALUES (true)",
            "INSERT INTO limits.clock_shift (id, shift) VALUES (true, 1), (true, 2)",
        ):
            with pytest.raises(psycopg.errors.UniqueViolation):
                connection.execute(statement)
        for statement in (
            "INSERT INTO limits.box (id) VALUES (false)",
            "INSERT INTO limits.clock_shift (id, shift) VALUES (false, 1)",
        ):
            with pytest.raises(psycopg.errors.CheckViolation):
                connection.execute(statement)


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
@pytest.mark.parametrize(
    "operation",
    [
        "limits.request('a', 'k', NULL, 1000, NULL, NULL, NULL)",
        "limits.release((SELECT id FROM limits.slot), 'k', 'ana', 'studio', NULL, true)",
        "limits.edit('a', 9, NULL, NULL, NULL, 'ana', 'studio', NULL)",
        """limits.declare('tests', '{"a": {"capacity": 9, "max_hold": 1000}}')""",
    ],
    ids=["request", "release", "edit", "declare"],
)
def test_another_isolation_level_is_refused(declare: Declare, box: pool.Database, level: str, operation: str) -> None:
    """A3: there a decision could rest on the state from before the wait for the lock."""
    declare(a=(2, HOUR))
    hold("a")
    with psycopg.connect(box.url, autocommit=True) as connection:
        connection.execute(f"SET default_transaction_isolation = '{level.lower()}'")
        with pytest.raises(psycopg.errors.ActiveSqlTransaction, match="READ COMMITTED only"):
            connection.execute(f"SELECT {operation}")
    assert counts("a") == (1, 0, 0)


def test_a_database_whose_default_is_another_isolation_level_serves_as_well(
    declare: Declare, box: pool.Database
) -> None:
    """A3: our own sessions choose theirs."""
    declare(a=(2, HOUR))
    strict = pool.Database(box.url + "&options=-c%20default_transaction_isolation%3Dserializable")
    assert engine.request("a", key="k", db=strict).state == "busy"
    strict.close()


def test_a_session_bounds_its_waits_and_keeps_its_plans(box: pool.Database) -> None:
    """F8: a lock is waited for 3 seconds, a transaction idles for 10, no plan is made anew or reads a whole table."""
    shown = {
        name: box.fetch("SELECT current_setting(%s) AS value", [name])[0]["value"]
        for name in ("lock_timeout", "idle_in_transaction_session_timeout", "plan_cache_mode", "enable_seqscan")
    }
    assert shown == {
        "lock_timeout": "3s",
        "idle_in_transaction_session_timeout": "10s",
        "plan_cache_mode": "force_generic_plan",
        "enable_seqscan": "off",
    }


@pytest.mark.parametrize("field", ["run_id", "workflow"])
def test_a_name_too_long_for_an_index_is_refused(declare: Declare, field: str) -> None:
    """A4: before anything is stored, as text with a bound."""
    declare(a=(2, HOUR))
    with pytest.raises(InvalidValueError, match=rf"^a: {field}: must have 1 to 200 characters, got 3,000"):
        engine.request("a", key="k", **{field: "x" * 3_000})  # type: ignore[arg-type]
    assert counts("a") == (0, 0, 0)


def test_an_engine_call_commits_by_itself_whatever_transaction_is_open(declare: Declare, box: pool.Database) -> None:
    """F6: the caller's own transaction is rolled back, the slot is released and granted all the same."""
    declare(a=(1, HOUR))
    held, waiting = hold("a"), wait("a")
    with box.connection() as connection, connection.transaction(force_rollback=True):
        connection.execute("SELECT 1")
        assert release(held).granted == 1
    assert ids("a", "reserved") == [waiting]


def test_a_transaction_that_is_rolled_back_leaves_nothing(declare: Declare, box: pool.Database) -> None:
    """A3: whoever calls the functions by hand loses all of it or nothing."""
    declare(a=(1, HOUR))
    held, waiting = hold("a"), wait("a")
    with box.connection() as connection, connection.transaction(force_rollback=True):
        connection.execute("SELECT limits.release(%s, 'k', 'me', 'client', NULL, false)", [held])
    assert (state(held), state(waiting)) == ("busy", "waiting")


def test_a_decision_sees_what_was_committed_while_it_waited_for_the_lock(declare: Declare, box: pool.Database) -> None:
    """A3: the free slot it saw before is taken; it must not be granted twice."""
    declare(a=(1, HOUR))
    other = pool.Database(box.url, application_name="second", size=1)
    asked: list[engine.Asked] = []
    with box.connection() as connection, connection.transaction():
        connection.execute("SELECT limits.request('a', 'first', NULL, 0, NULL, NULL, NULL)")
        thread = threading.Thread(target=lambda: asked.append(engine.request("a", key="second", db=other)))
        thread.start()
        while not box.fetch(
            "SELECT FROM pg_stat_activity WHERE application_name = 'second' AND wait_event_type = 'Lock'"
        ):
            pass
    thread.join(10)
    other.close()
    assert [one.state for one in asked] == ["waiting"]
    assert counts("a") == (1, 0, 1)
