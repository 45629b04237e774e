"""A waiting run that is cancelled, fails or is deleted leaves the queue, and is never granted afterwards."""

from collections.abc import Callable

import pytest
from dbos import DBOSClient

from limits import engine
from stackbone import runs
from stackbone.runtimes.recording import Recording
from stackbone.runtimes.schema import url_of
from tests.workflows.conftest import Workspace, eventually

ACTOR = engine.Actor(name="ana", source="studio")


def by_us(workspace: Workspace, run_id: str) -> None:
    assert runs.cancel(run_id, actor=ACTOR, db=workspace.box)


def by_the_runtime(workspace: Workspace, run_id: str) -> None:
    client = DBOSClient(system_database_url=url_of(workspace.box.url), serializer=Recording())
    client.cancel_workflow(run_id)
    client.destroy()


def by_sql(workspace: Workspace, run_id: str) -> None:
    workspace.box.fetch(
        "UPDATE dbos.workflow_status SET status = 'CANCELLED' WHERE workflow_uuid = %s RETURNING 1", [run_id]
    )


def by_deleting(workspace: Workspace, run_id: str) -> None:
    workspace.box.fetch("DELETE FROM dbos.workflow_status WHERE workflow_uuid = %s RETURNING 1", [run_id])


def by_failing(workspace: Workspace, run_id: str) -> None:
    workspace.let("boom")


WAYS = [by_us, by_the_runtime, by_sql, by_deleting, by_failing]


@pytest.mark.parametrize("end", WAYS, ids=lambda end: end.__name__)
def test_a_run_that_ends_while_it_waits_leaves_the_queue_within_a_second(
    workspace: Workspace, end: Callable[[Workspace, str], None]
) -> None:
    """Q5, case 63: the next one gets the slot, the ended run never does."""
    workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    leaving = workspace.trigger("boom") if end is by_failing else workspace.call("leaving")
    workspace.waits(leaving)
    staying = workspace.call("staying")
    workspace.waits(staying)
    asked = workspace.box.fetch("SELECT clock_timestamp() AS now")[0]["now"]
    end(workspace, leaving)
    slot = workspace.waits(leaving, "withdrawn")
    assert slot.ended_at is not None
    if end is not by_failing:
        assert (slot.ended_at - asked).total_seconds() < 1
    assert workspace.queue() == ["staying"]
    workspace.client.release(holder)
    workspace.result(staying)
    assert not any("leaving" in line for line in workspace.steps())
    assert engine.check() == []


@pytest.mark.parametrize("end", [by_us, by_sql, by_deleting], ids=lambda end: end.__name__)
def test_whoever_grants_passes_an_ended_run_over(workspace: Workspace, end: Callable[[Workspace, str], None]) -> None:
    """Case 56, Q5: a program that knows neither runtime nor workflows releases while no worker lives."""
    worker = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    dead, alive = workspace.call("dead"), None
    workspace.waits(dead)
    alive = workspace.call("alive")
    workspace.waits(alive)
    worker.kill()
    end(workspace, dead)
    workspace.client.release(holder)
    assert workspace.slots(dead)[0].state == "withdrawn"
    assert workspace.slots(alive)[0].state == "reserved"
    workspace.worker().ready()
    workspace.result(alive)
    assert not any("dead" in line for line in workspace.steps())


def test_a_reservation_of_an_ended_run_is_not_confirmed(workspace: Workspace) -> None:
    """Case 63, F5: ended between grant and confirm, its slot goes to the next."""
    worker = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    dead = workspace.call("dead")
    reserved = workspace.waits(dead).id
    next_run = workspace.call("next")
    workspace.waits(next_run)
    worker.kill()
    workspace.client.release(holder)
    by_sql(workspace, dead)
    assert engine.confirm(reserved).state == "withdrawn"
    assert workspace.slots(next_run)[0].state == "reserved"


def test_a_cancelled_run_keeps_what_it_holds(workspace: Workspace) -> None:
    """F7, A8: cancelled inside with_limit, the slot stays: its work may still go on."""
    workspace.worker().ready()
    run_id = workspace.trigger("export_report", {"report_id": "r", "until": "go"})
    eventually(lambda: workspace.steps() == ["begin r"])
    by_us(workspace, run_id)
    workspace.let("go")
    eventually(lambda: workspace.steps() == ["begin r", "end r"])
    # The worker has had its say once another run has gone through it.
    workspace.result(workspace.trigger("export_report", {"report_id": "other"}))
    assert workspace.run(run_id).row.status == "cancelled"
    assert [slot.state for slot in workspace.slots(run_id)] == ["busy"]


def test_a_run_cancelled_before_it_starts_never_runs(workspace: Workspace) -> None:
    """Q5 in kind: nobody takes up what has ended."""
    worker = workspace.worker().ready()
    eventually(lambda: runs.workflows(db=workspace.box))
    worker.kill()
    run_id = workspace.call("never")
    by_us(workspace, run_id)
    assert not runs.cancel(run_id, actor=ACTOR, db=workspace.box)
    workspace.worker().ready()
    workspace.result(workspace.call("other"))
    assert [line.split()[1] for line in workspace.steps()] == ["other"]
