"""Forks, rewinds and resumed runs; late reservations: nobody works without a slot of his own."""

import os
from collections.abc import Iterator

import pytest
from dbos import DBOSClient

from limits import engine, rules
from stackbone import runs
from stackbone.runtimes.naming import QUEUE
from stackbone.runtimes.recording import Recording
from stackbone.runtimes.schema import url_of
from tests.conftest import Clock
from tests.workflows.conftest import Workspace, eventually


@pytest.fixture
def dbos(workspace: Workspace) -> Iterator[DBOSClient]:
    """Lend the runtime's own door."""
    client = DBOSClient(system_database_url=url_of(workspace.box.url), serializer=Recording(), application_name=QUEUE)
    yield client
    client.destroy()


def test_a_fork_after_the_acquire_fails_with_what_to_do(workspace: Workspace, dbos: DBOSClient) -> None:
    """Case 59: it would work under the other run's slot; forked at the acquire it takes its own."""
    workspace.worker().ready()
    original = workspace.call("original")
    slot_id = workspace.result(original)["slot_id"]
    fork = dbos.fork_workflow(original, 2, application_version=QUEUE, queue_name=QUEUE).get_workflow_id()
    with pytest.raises(runs.RunFailedError, match=f"ForeignSlotError: this run is a fork of {original}"):
        workspace.result(fork)
    own = dbos.fork_workflow(original, 1, application_version=QUEUE, queue_name=QUEUE).get_workflow_id()
    workspace.waits(own)
    workspace.client.release(slot_id)
    assert workspace.result(own)["slot_id"] != slot_id
    assert [line.split()[1] for line in workspace.steps()] == ["original", "original"]


def test_a_rewound_run_asks_entirely_anew(workspace: Workspace, dbos: DBOSClient) -> None:
    """A5: its former call timed out, and that no longer counts."""
    workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    rewound = workspace.call("rewound", timeout="500ms")
    assert workspace.result(rewound) == {"slot_id": None}
    workspace.client.release(holder)
    dbos.rewind_workflow(rewound, start_step=1, application_version=QUEUE, queue_name=QUEUE)
    eventually(lambda: workspace.run(rewound).row.status == "completed")
    assert [slot.state for slot in workspace.slots(rewound)] == ["timed_out", "busy"]
    assert workspace.result(rewound) == {"slot_id": workspace.slots(rewound)[1].id}


def test_a_run_rewound_past_its_acquire_fails_if_its_slot_has_ended(workspace: Workspace, dbos: DBOSClient) -> None:
    """Case 59: a released slot is not used as if it were held; one that is still held is its own."""
    workspace.worker().ready()
    run_id = workspace.call("call")
    slot_id = workspace.result(run_id)["slot_id"]
    dbos.rewind_workflow(run_id, start_step=2, application_version=QUEUE, queue_name=QUEUE)
    eventually(lambda: len(workspace.steps()) == 2 and workspace.run(run_id).row.status == "completed")
    workspace.client.release(slot_id)
    dbos.rewind_workflow(run_id, start_step=2, application_version=QUEUE, queue_name=QUEUE)
    eventually(lambda: workspace.run(run_id).row.status == "failed")
    assert "ForeignSlotError" in str(workspace.run(run_id).error)
    assert len(workspace.steps()) == 2


def test_a_resumed_run_queues_anew(workspace: Workspace, dbos: DBOSClient) -> None:
    """Case 59: cancelled while it waited, resumed while the limit is full."""
    workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    resumed = workspace.call("resumed")
    workspace.waits(resumed)
    runs.cancel(resumed, actor=engine.SYSTEM, db=workspace.box)
    workspace.waits(resumed, "withdrawn")
    dbos.resume_workflow(resumed, queue_name=QUEUE)
    workspace.waits(resumed)
    workspace.client.release(holder)
    workspace.result(resumed)
    assert [slot.state for slot in workspace.slots(resumed)] == ["withdrawn", "busy"]


# By the clock on the wall it takes two minutes: for `make proof`.
CLOCKS = ["shifted", "real"] if "STACKBONE_LONG_PROOFS" in os.environ else ["shifted"]


@pytest.mark.parametrize("time", CLOCKS)
def test_a_late_run_comes_back_at_the_end_with_its_deadline(workspace: Workspace, clock: Clock, time: str) -> None:
    """Q6: its worker was killed, two minutes pass, the slot moves on; the run waits on behind the others.

    No worker lives meanwhile, or it would take the run over before that.
    """
    worker = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    late = workspace.call("late")
    deadline = workspace.waits(late).times_out_at
    other = workspace.call("other")
    workspace.waits(other)
    worker.kill()
    workspace.client.release(holder)
    reserved = workspace.waits(late, "reserved").reserved_until
    if time == "shifted":
        clock.advance(rules.RESERVATION)
    eventually(lambda: (engine.sweep(), workspace.slots(other)[0].state == "reserved")[1], within=150)
    moved = workspace.slots(other)[0].granted_at
    assert moved is not None
    assert reserved is not None
    assert 0 <= (moved - reserved).total_seconds() < 5
    assert workspace.slots(late)[0].state == "waiting"
    workspace.worker().ready()
    slot_id = workspace.result(other)["slot_id"]
    slot = workspace.waits(late)
    assert (slot.position, slot.missed, slot.times_out_at) == (1, 1, deadline)
    workspace.client.release(slot_id)
    workspace.result(late)
    assert [line.split()[1] for line in workspace.steps()] == ["holder", "other", "late"]


def test_a_slot_that_expired_while_its_run_was_away_is_asked_for_anew(workspace: Workspace, clock: Clock) -> None:
    """A5: killed before the step was recorded; max hold passed; it asks again, up to its original deadline."""
    dying = workspace.worker(dies="before the record").ready()
    run_id = workspace.trigger("strict_call", {"call_id": "call", "timeout": "2h"})
    dying.dies()
    first = workspace.slots(run_id)[0]
    assert first.state == "busy"
    clock.advance(46 * rules.MINUTE)
    engine.sweep()
    workspace.worker().ready()
    second = workspace.result(run_id)["slot_id"]
    slots = workspace.slots(run_id)
    assert [slot.state for slot in slots] == ["expired", "busy"]
    assert slots[1].id == second
    times = workspace.box.fetch("SELECT times_out_at FROM limits.slot WHERE run_id = %s ORDER BY asked_at", [run_id])
    assert abs((times[0]["times_out_at"] - times[1]["times_out_at"]).total_seconds()) < 0.01
