"""What an operation looks at before it acts, seen where nothing else would hold it back."""

from collections.abc import Callable

import pytest

from limits import engine, housekeeping, pool
from limits.rules import HOUR, MINUTE
from tests.conftest import Clock
from tests.engine.steps import OPERATOR, ask, confirm, counts, hold, release, state, wait

type Declare = Callable[..., engine.Synced]


def test_a_newcomer_queues_behind_a_waiter_even_beside_a_free_slot(declare: Declare, box: pool.Database) -> None:
    """A2: a slot that is free while somebody waits is for whoever waits."""
    declare(calls=(1, HOUR))
    held, first = hold("calls"), wait("calls")
    # No operation leaves a slot like this; a person at the database may.
    with box.connection() as connection:
        connection.execute(
            "UPDATE limits.slot SET state = 'released', ended_at = clock_timestamp() WHERE id = %s", [held]
        )
        connection.execute("UPDATE limits.limit SET busy = 0")
    assert ask("calls").state == "waiting"
    assert confirm(first) == "busy"
    assert counts("calls") == (1, 0, 1)


def test_whoever_still_waits_cannot_confirm(declare: Declare) -> None:
    """A3, Q6: only a reservation is confirmed, whoever asks how long the queue still is."""
    declare(calls=(1, HOUR))
    hold("calls")
    slot = wait("calls")
    assert confirm(slot) == "waiting"
    assert state(slot) == "waiting"
    assert counts("calls") == (1, 0, 1)


def test_a_confirmation_sent_again_uses_up_no_reservation_of_another(declare: Declare) -> None:
    """Q6: its answer was lost; the second time there is nothing left to do."""
    declare(calls=(2, HOUR))
    held = [hold("calls"), hold("calls")]
    first, second = wait("calls"), wait("calls")
    assert [release(slot).granted for slot in held] == [1, 1]
    assert [confirm(first), confirm(first)] == ["busy", "busy"]
    assert counts("calls") == (1, 1, 0)
    assert state(second) == "reserved"


def test_reservations_that_end_together_lapse_in_one_pass_though_a_batch_takes_two(
    declare: Declare, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8, Q6: one raise granted them, so they end at one instant, which no batch may step over."""
    monkeypatch.setattr(housekeeping, "_SWEEP_BATCH", 2)
    declare(calls=(1, HOUR))
    hold("calls")
    for _ in range(5):
        wait("calls")
    assert engine.edit("calls", actor=OPERATOR, capacity=6).granted == 5
    clock.advance(2 * MINUTE)
    assert engine.sweep() == engine.Swept(lapsed=5, granted=5)
