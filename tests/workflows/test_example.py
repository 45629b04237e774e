"""The two-workflow example and its relatives, with a real worker."""

import pytest

from limits.errors import InvalidValueError, SlotTimeoutError
from stackbone import runs
from tests.workflows.conftest import Workspace, eventually


def test_one_workflow_takes_the_slot_and_another_gives_it_back(workspace: Workspace) -> None:
    """A1, F1, F7: the run that took the slot completes, the slot stays busy until the other run releases it."""
    workspace.worker().ready()
    first = workspace.call("call-1")
    slot_id = workspace.result(first)["slot_id"]
    assert workspace.busy().id == slot_id
    assert workspace.run(first).row.status == "completed"

    second = workspace.call("call-2")
    workspace.waits(second)
    ended = workspace.trigger("call_ended", {"slot_id": slot_id})
    assert workspace.result(ended) == {"released": True}
    assert workspace.result(second)["slot_id"] != slot_id
    assert workspace.result(workspace.trigger("call_ended", {"slot_id": slot_id})) == {"released": False}
    assert workspace.slots(first)[0].ended_by == "call_ended"


def test_a_waiting_run_shows_an_open_step_that_closes_with_its_slot(workspace: Workspace) -> None:
    """Q3: running, with the steps before it done; the open step has its place, who is ahead, and its deadline."""
    workspace.worker().ready()
    slot_id = workspace.result(workspace.call("call-1"))["slot_id"]
    ahead = workspace.call("call-2")
    workspace.waits(ahead)
    behind = workspace.trigger("strict_call", {"call_id": "call-3"})
    waiting = workspace.waits(behind)
    shown = workspace.run(behind)
    assert shown.row.status == "running"
    assert shown.row.waits_for == ("voice-calls",)
    assert [(step.name, step.status) for step in shown.steps] == [
        ("ready", "completed"),
        ("Esperando hueco · voice-calls", "running"),
    ]
    open_step = shown.steps[-1]
    assert open_step.started_at == waiting.asked_at
    assert open_step.slot is not None
    assert open_step.slot.position == 2
    assert [slot.run_id for slot in open_step.ahead] == [ahead]
    assert [row.id for row in runs.runs(waiting=True, db=workspace.box).items] == [behind, ahead]

    workspace.client.release(slot_id)
    workspace.client.release(workspace.result(ahead)["slot_id"])
    workspace.result(behind)
    assert [(step.name, step.status) for step in workspace.run(behind).steps] == [
        ("ready", "completed"),
        ("Esperando hueco · voice-calls", "completed"),
    ]


def test_a_wait_that_runs_out_raises_the_timeout(workspace: Workspace) -> None:
    """Q4, case 61: caught it is an outcome; uncaught it ends the run and is known again in another process."""
    workspace.worker().ready()
    workspace.result(workspace.call("call-1"))
    assert workspace.result(workspace.call("call-2", timeout="500ms")) == {"slot_id": None}
    strict = workspace.trigger("strict_call", {"call_id": "call-3", "timeout": "500ms"})
    with pytest.raises(SlotTimeoutError) as caught:
        workspace.result(strict)
    assert SlotTimeoutError.is_(caught.value)
    assert (caught.value.limiter, caught.value.timeout) == ("voice-calls", 500)
    shown = workspace.run(strict)
    assert shown.row.status == "failed"
    assert shown.error is not None
    assert shown.error.startswith("SlotTimeoutError: ")
    assert shown.steps[-1].status == "failed"


def test_a_timeout_of_zero_tries_once(workspace: Workspace) -> None:
    """A6: it never queues."""
    workspace.worker().ready()
    workspace.result(workspace.call("call-1", timeout="0s"))
    run_id = workspace.call("call-2", timeout="0s")
    assert workspace.result(run_id) == {"slot_id": None}
    assert workspace.slots(run_id) == []


def test_with_limit_releases_on_return_and_on_error(workspace: Workspace) -> None:
    """A8: the result comes through, and so does the error; neither leaves a slot behind."""
    workspace.worker().ready()
    done = workspace.trigger("export_report", {"report_id": "r-1"})
    assert workspace.result(done) == {"file": "r-1.pdf"}
    failed = workspace.trigger("export_report", {"report_id": "r-2", "fails": True})
    with pytest.raises(runs.RunFailedError, match="ValueError: no paper"):
        workspace.result(failed)
    assert [slot.state for run_id in (done, failed) for slot in workspace.slots(run_id)] == ["released", "released"]


def test_a_body_or_a_wait_that_gives_up_leaves_nothing_behind(workspace: Workspace) -> None:
    """A8: an asyncio.timeout of the author's own ends the body, or the wait; slot and place are given back."""
    workspace.worker().ready()
    workspace.result(workspace.call("call-1"))
    run_id = workspace.trigger("gives_up")
    assert workspace.result(run_id) == "done"
    assert workspace.steps()[1:] == ["body gave up", "wait gave up"]
    assert [slot.state for slot in workspace.slots(run_id)] == ["released", "withdrawn"]


def test_a_step_that_is_retried_inside_keeps_the_slot(workspace: Workspace) -> None:
    """A8: three tries, one slot."""
    workspace.worker().ready()
    run_id = workspace.trigger("retried")
    assert workspace.result(run_id) == 3
    assert [slot.state for slot in workspace.slots(run_id)] == ["released"]


def test_plain_functions_are_served_too(workspace: Workspace) -> None:
    """A1, A8: in a `def` workflow the same helpers block and return their result itself."""
    workspace.worker().ready()
    slot_id = workspace.result(workspace.call("call-1"))["slot_id"]
    run_id = workspace.trigger("blocking_call", {"call_id": "b"})
    workspace.waits(run_id)
    workspace.client.release(slot_id)
    answer = workspace.result(run_id)
    assert (answer["released"], answer["inner"]) == (True, 7)
    assert workspace.steps()[1:] == ["dial b", "dial b inside"]
    assert [slot.state for slot in workspace.slots(run_id)] == ["released"] * 3


def test_release_works_in_a_step_and_a_workflow_runs_as_part_of_another(workspace: Workspace) -> None:
    """A7, F1: also in a step; a child run takes and gives back like any other."""
    workspace.worker().ready()
    slot_id = workspace.result(workspace.call("call-1"))["slot_id"]
    assert workspace.result(workspace.trigger("releases_in_step", {"slot_id": slot_id})) == {"released": True}
    assert workspace.result(workspace.trigger("parent", {"call_id": "call-2"})) == {"released": True}


def test_a_run_is_itself_again_after_a_child(workspace: Workspace) -> None:
    """S2: a slot bears the name of the workflow that took it."""
    workspace.worker().ready()
    run_id = workspace.trigger("family", {"call_id": "child"})
    workspace.result(run_id)
    assert [(slot.label, slot.workflow) for slot in workspace.slots(run_id)] == [("parent", "family")]
    assert workspace.busy().workflow == "place_call"


def test_the_input_is_checked_before_a_run_starts(workspace: Workspace) -> None:
    """The schema is the worker's; what it refuses starts nothing, and an unknown workflow names near ones."""
    workspace.worker().ready()
    eventually(lambda: runs.workflows(db=workspace.box))
    with pytest.raises(InvalidValueError, match="'call_id' is a required property"):
        workspace.trigger("place_call", {"calls": 1})
    with pytest.raises(runs.UnknownWorkflowError, match="did you mean 'place_call'"):
        workspace.trigger("place_cal", {})
    assert runs.runs(db=workspace.box).items == []


def test_the_same_run_id_starts_one_run(workspace: Workspace) -> None:
    """A5 in kind: a request sent twice is one run."""
    workspace.worker().ready()
    eventually(lambda: runs.workflows(db=workspace.box))
    first = workspace.client.trigger("place_call", {"call_id": "once"}, run_id="run-of-call-1")
    again = workspace.client.trigger("place_call", {"call_id": "once"}, run_id="run-of-call-1")
    assert first == again == "run-of-call-1"
    workspace.result(first)
    assert len(runs.runs(db=workspace.box).items) == 1
    with pytest.raises(InvalidValueError, match="run_id: is that of a run of 'place_call'"):
        workspace.client.trigger("call_ended", {"slot_id": "x"}, run_id="run-of-call-1")
    with pytest.raises(InvalidValueError, match="run_id: must have 1 to 150 characters, got 151"):
        workspace.client.trigger("call_ended", {"slot_id": "x"}, run_id="x" * 151)


def test_a_run_may_have_the_longest_id_there_is(workspace: Workspace) -> None:
    """The keys of its calls fit too."""
    workspace.worker().ready()
    run_id = workspace.client.trigger("place_call", {"call_id": "long"}, run_id="x" * 150)
    assert workspace.result(run_id)["slot_id"] == workspace.busy().id
