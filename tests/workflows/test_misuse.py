"""Calls that stand where they can't work: a clear error each time, and nothing taken."""

import asyncio

import pytest

from limits import queries
from stackbone import runs, workflow
from tests.workflows.conftest import Workspace

PLACES = {
    "step": "WrongPlaceError: acquire_slot waits durably, so it works in the workflow function alone: move the call out",
    "with_limit in step": "WrongPlaceError: acquire_slot waits durably, so it works in the workflow function alone",
    "thread of a step": "WrongPlaceError: acquire_slot waits durably, .* thread that one of its steps started",
    "thread": "WrongPlaceError: acquire_slot is called from a thread; await it in the workflow function",
    "loop": "WrongPlaceError: acquire_slot is awaited on an event loop of its own",
    "unknown": "UnknownLimitError: limit 'voice-cals' is not declared .* did you mean 'voice-calls'",
    "label": "InvalidValueError: voice-calls: label: must not hold the control character",
    "timeout": "InvalidValueError: voice-calls: timeout: ",
}


def test_each_wrong_place_says_what_to_do(workspace: Workspace) -> None:
    """A7, A4: in a step, in threads, on a foreign loop; with refused values. No slot is taken by any."""
    workspace.worker().ready()
    for how, message in PLACES.items():
        with pytest.raises(runs.RunFailedError, match=message):
            workspace.result(workspace.trigger("misuse", {"how": how}))
    for how, name in (("take", "acquire_slot"), ("release", "release_slot")):
        with pytest.raises(runs.RunFailedError, match=f"WrongPlaceError: {name} is awaited on an event loop"):
            workspace.result(workspace.trigger("blocking_misuse", {"how": how}))
    with pytest.raises(runs.RunFailedError, match="'blocking_call' is a plain function and can't be a part of"):
        workspace.result(workspace.trigger("mixed_family", {"call_id": "call"}))
    state = queries.limit("voice-calls", db=workspace.box)
    assert state is not None
    assert (state.held, state.waiting) == (0, 0)


def test_outside_any_workflow_the_error_names_the_plain_client() -> None:
    """A7: in a script, with and without an event loop."""

    async def take() -> None:
        await workflow.acquire_slot("voice-calls")

    async def hold() -> None:
        await workflow.with_limit("voice-calls", take)

    for call in (take, hold):
        with pytest.raises(workflow.WrongPlaceError, match=r"stackbone\.client\.Client"):
            asyncio.run(call())
    with pytest.raises(workflow.WrongPlaceError, match=r"stackbone\.client\.Client"):
        workflow.acquire_slot("voice-calls")


def test_release_works_in_plain_code(workspace: Workspace) -> None:
    """A7, F1: blocking in a script, awaited on a loop."""
    workspace.worker().ready()
    first = workspace.result(workspace.call("call-1"))["slot_id"]
    assert workflow.release_slot(first).released  # type: ignore[attr-defined]
    second = workspace.result(workspace.call("call-2"))["slot_id"]

    async def release() -> bool:
        return (await workflow.release_slot(second)).released

    assert asyncio.run(release())
    assert not asyncio.run(release())


def test_a_run_that_waits_for_itself_is_warned_of(workspace: Workspace) -> None:
    """A8 in kind: with_limit inside with_limit of the same limit at capacity 1."""
    worker = workspace.worker().ready()
    run_id = workspace.trigger("nested")
    workspace.result(run_id)
    assert workspace.steps() == ["inner timed out"]
    assert f"run {run_id} waits for itself: it holds all 1 slots of limit 'voice-calls'" in worker.output
