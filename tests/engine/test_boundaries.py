"""What happens at the very instant, and a microsecond before it: the functions are asked as if it were then."""

from collections.abc import Callable
from datetime import datetime, timedelta

from limits import engine, pool
from limits.rules import HOUR, MINUTE
from tests.engine.steps import hold, release, row, wait

type Declare = Callable[..., engine.Synced]

SETTLE = "SELECT limits.settle(limits.lock_limit(l.id), %(at)s) FROM limits.limit l"
GRANT = """
    SELECT limits.grant_free(x, %(at)s)
    FROM limits.limit l, LATERAL (SELECT (limits.lock_limit(l.id)).*) x
"""


def state_after(box: pool.Database, step: str, slot_id: str, at: datetime) -> str:
    """Return the state that one step would leave the slot in at that instant; nothing stays of it."""
    with box.connection() as connection, connection.transaction(force_rollback=True):
        connection.execute(step, {"at": at})  # type: ignore[arg-type]
        found = connection.execute("SELECT state FROM limits.slot WHERE id = %s", [slot_id]).fetchone()
    assert found is not None
    return str(found["state"])


def at_and_before(box: pool.Database, step: str, slot_id: str, at: datetime | None) -> tuple[str, str]:
    """Return the states a microsecond before the instant, and at it."""
    assert at is not None
    return state_after(box, step, slot_id, at - timedelta(microseconds=1)), state_after(box, step, slot_id, at)


def test_a_slot_is_taken_back_at_the_instant_of_its_max_hold(declare: Declare, box: pool.Database) -> None:
    """F3."""
    declare(calls=(1, HOUR))
    slot = hold("calls")
    assert at_and_before(box, SETTLE, slot, row(slot).expires_at) == ("busy", "expired")


def test_a_wait_times_out_at_the_instant_of_its_deadline(declare: Declare, box: pool.Database) -> None:
    """Q4."""
    declare(calls=(1, HOUR))
    hold("calls")
    slot = wait("calls", timeout=MINUTE)
    assert at_and_before(box, SETTLE, slot, row(slot).times_out_at) == ("waiting", "timed_out")


def test_a_reservation_lapses_at_the_instant_of_its_end(declare: Declare, box: pool.Database) -> None:
    """Q6."""
    declare(calls=(1, HOUR))
    held = hold("calls")
    slot = wait("calls")
    release(held)
    assert at_and_before(box, SETTLE, slot, row(slot).reserved_until) == ("reserved", "waiting")


def test_a_reservation_that_ends_with_the_wait_times_out(declare: Declare, box: pool.Database) -> None:
    """Q6, Q4: at the deadline nothing is left to wait for."""
    declare(calls=(1, HOUR))
    held = hold("calls")
    slot = wait("calls", timeout=MINUTE)
    release(held)
    with box.connection() as connection:
        connection.execute(
            "UPDATE limits.slot SET reserved_until = times_out_at + interval '1 us' WHERE id = %s", [slot]
        )
        connection.execute("UPDATE limits.slot SET times_out_at = reserved_until WHERE id = %s", [slot])
    assert at_and_before(box, SETTLE, slot, row(slot).reserved_until) == ("reserved", "timed_out")


def test_nobody_is_granted_a_slot_at_the_instant_of_the_deadline(declare: Declare, box: pool.Database) -> None:
    """Q4: also where the deadline was not settled before the grant, as after a full batch of the sweep."""
    declare(calls=(1, HOUR))
    held = hold("calls")
    slot = wait("calls", timeout=MINUTE)
    release_only = "UPDATE limits.slot SET state = 'released', ended_at = clock_timestamp() WHERE id = %s"
    with box.connection() as connection:
        connection.execute(release_only, [held])
        connection.execute("UPDATE limits.limit SET busy = 0")
    assert at_and_before(box, GRANT, slot, row(slot).times_out_at) == ("reserved", "timed_out")
    assert engine.confirm(slot).state == "busy"
