"""A worker killed at each moment of a run: no second slot, no lost slot, no lost run, order and deadlines as before."""

import pytest

from limits import engine
from tests.workflows.conftest import Workspace, eventually

MOMENTS = [
    "after the request",
    "before the confirm",
    "after the confirm",
    "before the record",
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_whose_worker_is_killed_gets_one_slot(workspace: Workspace, moment: str) -> None:
    """A5, Q2: the run waits behind another; its worker dies around its request, grant, confirm or record."""
    workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    workspace.workers[0].kill()

    dying = workspace.worker(dies=moment)
    run_id = workspace.call("victim")
    if moment != "after the request":
        workspace.waits(run_id)
        workspace.client.release(holder)
    dying.dies()
    before = workspace.slots(run_id)[0]

    workspace.worker().ready()
    if moment == "after the request":
        assert workspace.waits(run_id).position == 1
        workspace.client.release(holder)
    slot_id = workspace.result(run_id)["slot_id"]
    slots = workspace.slots(run_id)
    assert [(slot.id, slot.state) for slot in slots] == [(slot_id, "busy")]
    assert slots[0].number == before.number
    assert slots[0].asked_at == before.asked_at
    assert workspace.steps() == [f"dial holder {holder}", f"dial victim {slot_id}"]
    assert engine.check() == []


def test_a_run_killed_while_it_waits_keeps_its_place_and_its_deadline(workspace: Workspace) -> None:
    """Q2: same waiters, same order, same remaining timeouts after a restart."""
    first = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    waiting = []
    for label in ("a", "b", "c"):
        waiting.append(workspace.call(label))
        workspace.waits(waiting[-1])
    before = [(slot.id, slot.number, slot.times_out_at) for run_id in waiting for slot in workspace.slots(run_id)]
    first.kill()
    workspace.worker().ready()
    eventually(lambda: all(workspace.run(run_id).row.status == "running" for run_id in waiting))
    assert before == [
        (slot.id, slot.number, slot.times_out_at) for run_id in waiting for slot in workspace.slots(run_id)
    ]
    slot_id = holder
    for run_id in waiting:
        workspace.client.release(slot_id)
        slot_id = workspace.result(run_id)["slot_id"]
    assert [line.split()[1] for line in workspace.steps()] == ["holder", "a", "b", "c"]


def test_a_timeout_that_passed_while_the_worker_was_dead_stays_passed(workspace: Workspace) -> None:
    """A5: timed out stays timed out, though a slot is free by now."""
    workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    workspace.workers[0].kill()
    dying = workspace.worker(dies="after the request")
    run_id = workspace.call("late", timeout="1s")
    dying.dies()
    eventually(lambda: (engine.sweep(), workspace.slots(run_id)[0].state == "timed_out")[1])
    workspace.client.release(holder)
    workspace.worker().ready()
    assert workspace.result(run_id) == {"slot_id": None}


def test_a_run_killed_inside_its_step_runs_the_step_again_with_its_slot(workspace: Workspace) -> None:
    """A5, F7: the slot stays its own over the restart."""
    first = workspace.worker().ready()
    run_id = workspace.trigger("export_report", {"report_id": "r", "until": "go"})
    eventually(lambda: workspace.steps() == ["begin r"])
    held = workspace.slots(run_id)[0]
    first.kill()
    workspace.worker().ready()
    eventually(lambda: workspace.steps() == ["begin r", "begin r"])
    assert [(slot.id, slot.state) for slot in workspace.slots(run_id)] == [(held.id, "busy")]
    workspace.let("go")
    assert workspace.result(run_id) == {"file": "r.pdf"}
    assert [slot.state for slot in workspace.slots(run_id)] == ["released"]


def test_a_worker_that_fails_gives_nothing_back(workspace: Workspace) -> None:
    """A8: stopped by an error of its own, it does not end the blocks of its runs: their slots stay theirs."""
    first = workspace.worker().ready()
    run_id = workspace.trigger("export_report", {"report_id": "r", "until": "go"})
    eventually(lambda: workspace.steps() == ["begin r"])
    first.kill()
    failing = workspace.worker(dies="once launched")
    assert failing.process.wait(60) == 1
    assert "can't go on" in failing.output
    assert workspace.steps() == ["begin r"] * 2
    assert [slot.state for slot in workspace.slots(run_id)] == ["busy"]


@pytest.mark.parametrize("moment", ["before the release", "after the release"])
def test_a_run_killed_around_its_release_releases_once(workspace: Workspace, moment: str) -> None:
    """F1: its replay gives the slot back, or learns that it did; nothing else is released in its name."""
    dying = workspace.worker(dies=moment)
    dying.ready()
    run_id = workspace.trigger("export_report", {"report_id": "r"})
    dying.dies()
    workspace.worker().ready()
    assert workspace.result(run_id) == {"file": "r.pdf"}
    assert [slot.state for slot in workspace.slots(run_id)] == ["released"]
    assert workspace.steps() == ["begin r", "end r"]


def test_a_release_killed_before_its_record_answers_true_again(workspace: Workspace) -> None:
    """F1: the releaser's key is kept with the slot."""
    workspace.worker().ready()
    slot_id = workspace.result(workspace.call("call"))["slot_id"]
    workspace.workers[0].kill()
    dying = workspace.worker(dies="after the release")
    run_id = workspace.trigger("call_ended", {"slot_id": slot_id})
    dying.dies()
    workspace.worker().ready()
    assert workspace.result(run_id) == {"released": True}
