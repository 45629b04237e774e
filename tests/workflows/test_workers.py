"""Workers: identities, take-over, stopping, and code that changes or is missing."""

import signal

import psutil

from limits import engine
from limits.pool import Database
from stackbone import runs
from tests.aging import let_server_age
from tests.workflows.conftest import Workspace, eventually


def let_worker_be_gone(box: Database, name: str) -> None:
    """Have the sweep miss the worker, and a minute pass since."""
    let_server_age(box, 60)
    eventually(
        lambda: (
            engine.sweep(db=box),
            box.fetch(
                "UPDATE limits.worker SET gone_since = gone_since - interval '60 seconds'"
                " WHERE name = %s AND gone_since > clock_timestamp() - interval '50 seconds' RETURNING 1",
                [name],
            ),
        )[1]
    )


def test_a_second_process_with_a_taken_identity_refuses_to_start(workspace: Workspace) -> None:
    """Q7: by the session's lock; without a name it takes the next free number."""
    workspace.worker("--name", "blue").ready()
    refused = workspace.worker("--name", "blue")
    assert refused.process.wait(60) == 1
    assert "another process runs as worker 'blue'" in refused.output
    workspace.worker().ready()
    workspace.worker().ready()
    names = workspace.box.fetch("SELECT name FROM limits.worker WHERE kind = 'worker' ORDER BY name")
    assert [row["name"] for row in names] == ["1", "2", "blue"]


def test_a_live_worker_takes_over_the_runs_of_one_that_is_gone(workspace: Workspace) -> None:
    """Q7: waiting, reserved and in a step; nothing twice, order kept, each with the number it had."""
    gone = workspace.worker("--name", "gone").ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    working = workspace.trigger("export_report", {"report_id": "r", "until": "go"})
    eventually(lambda: "begin r" in workspace.steps())
    waiting = []
    for label in ("a", "b", "c"):
        waiting.append(workspace.call(label))
        workspace.waits(waiting[-1])
    before = [slot.number for run_id in waiting for slot in workspace.slots(run_id)]
    workspace.worker("--name", "live").ready()
    gone.kill()
    workspace.client.release(holder)
    assert workspace.slots(waiting[0])[0].state == "reserved"
    let_worker_be_gone(workspace.box, "gone")

    slot_id = workspace.result(waiting[0])["slot_id"]
    eventually(lambda: all(workspace.run(run_id).row.worker == "live" for run_id in waiting))
    assert before == [slot.number for run_id in waiting for slot in workspace.slots(run_id)]
    for run_id in waiting[1:]:
        workspace.client.release(slot_id)
        slot_id = workspace.result(run_id)["slot_id"]
    workspace.let("go")
    workspace.result(working)
    assert [line.split()[1] for line in workspace.steps() if line.startswith("dial")] == ["holder", "a", "b", "c"]
    assert [len(workspace.slots(run_id)) for run_id in [working, *waiting]] == [1, 1, 1, 1]
    assert engine.check() == []


def test_a_worker_whose_identity_passed_on_stops(workspace: Workspace) -> None:
    """Q7: it lost its session, and another process claimed the identity before it came back."""
    frozen = workspace.worker("--name", "blue").ready()
    frozen.process.send_signal(signal.SIGSTOP)
    workspace.box.fetch(
        "SELECT pg_terminate_backend(k.pid) FROM pg_locks k WHERE k.locktype = 'advisory' AND k.classid = %s",
        [engine.PROCESS_LOCK_CLASS],
    )
    eventually(
        lambda: (
            not workspace.box.fetch(
                "SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s", [engine.PROCESS_LOCK_CLASS]
            )
        )
    )
    workspace.worker("--name", "blue").ready()
    frozen.process.send_signal(signal.SIGCONT)
    assert frozen.process.wait(60) == 1
    assert "another process runs as worker blue now" in frozen.output


def test_sigterm_lets_a_step_end_and_leaves_the_waiting_in_line(workspace: Workspace) -> None:
    """Case 57: within 10 seconds; waiting runs keep their place, and a slot granted meanwhile is theirs at the start."""
    worker = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    working = workspace.trigger("export_report", {"report_id": "r", "until": "go"})
    eventually(lambda: "begin r" in workspace.steps())
    waiting = workspace.call("waiting")
    workspace.waits(waiting)
    worker.process.terminate()
    eventually(lambda: "stopping" in worker.output)
    workspace.client.release(holder)
    workspace.let("go")
    assert worker.process.wait(10) == 0
    assert workspace.run(working).row.status == "completed"
    assert [slot.state for slot in workspace.slots(working)] == ["released"]
    assert workspace.slots(waiting)[0].state == "reserved"
    workspace.worker().ready()
    workspace.result(waiting)
    assert [line for line in workspace.steps() if line.endswith(" r")] == ["begin r", "end r"]


def test_sigterm_does_not_wait_for_a_long_step(workspace: Workspace) -> None:
    """Case 57: after 10 seconds at most it is gone; the run goes on with its slot at the next start."""
    worker = workspace.worker().ready()
    run_id = workspace.trigger("export_report", {"report_id": "r", "until": "go"})
    eventually(lambda: workspace.steps() == ["begin r"])
    assert worker.stop() == 0
    assert [slot.state for slot in workspace.slots(run_id)] == ["busy"]
    workspace.worker().ready()
    eventually(lambda: workspace.steps() == ["begin r", "begin r"])
    workspace.let("go")
    workspace.result(run_id)
    assert [slot.state for slot in workspace.slots(run_id)] == ["released"]


def test_a_long_wait_is_delivered_once(workspace: Workspace) -> None:
    """Case 60: through several looks of two workers for runs nobody runs; one place, one grant, one step."""
    for _ in range(2):
        workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    run_id = workspace.call("patient")
    begun = workspace.waits(run_id).asked_at
    eventually(
        lambda: workspace.box.fetch(
            "SELECT FROM limits.box WHERE swept_at > %s::timestamptz + interval '16 seconds'", [begun]
        )
    )
    assert workspace.queue() == ["patient"]
    workspace.client.release(holder)
    slot_id = workspace.result(run_id)["slot_id"]
    assert [slot.id for slot in workspace.slots(run_id)] == [slot_id]
    assert workspace.steps()[1:] == [f"dial patient {slot_id}"]
    assert not any("taken" in worker.output for worker in workspace.workers)


def test_five_hundred_waiting_runs_cost_no_threads_and_few_connections(workspace: Workspace) -> None:
    """Q3, Q2: they finish in order, also after a restart that recovers all of them; another run is not kept waiting."""
    count = 500
    first = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    idle = psutil.Process(first.process.pid).num_threads()
    waiting = [workspace.call(f"{number:03}") for number in range(count)]
    eventually(lambda: len(workspace.queue()) == count, within=120)
    order = workspace.queue()
    assert psutil.Process(first.process.pid).num_threads() - idle < 50
    assert workspace.connections() <= 16
    workspace.result(workspace.trigger("export_report", {"report_id": "not kept waiting"}))
    first.kill()

    second = workspace.worker().ready()
    eventually(lambda: sum(runs_of(workspace, "PENDING").values()) == count, within=120)
    assert psutil.Process(second.process.pid).num_threads() - idle < 50
    assert workspace.connections() <= 16
    assert workspace.queue() == order
    workspace.client.release(holder)
    for _ in range(count - 1):
        slot = workspace.busy()
        eventually(lambda slot=slot: workspace.client.release(slot.id).released)
    eventually(lambda: runs_of(workspace, "SUCCESS").get("place_call") == count + 1, within=120)
    assert psutil.Process(second.process.pid).num_threads() - idle < 50
    granted = workspace.box.fetch(
        "SELECT label FROM limits.slot WHERE limit_id ="
        " (SELECT id FROM limits.limit WHERE name = 'voice-calls') ORDER BY granted_at, confirmed_at"
    )
    assert [row["label"] for row in granted] == ["holder", *order]
    dialled = [line.split()[1] for line in workspace.steps() if line.startswith("dial")]
    assert sorted(dialled) == sorted(["holder", *map(str, order)])
    assert all(len(workspace.slots(run_id)) == 1 for run_id in waiting)


def runs_of(workspace: Workspace, status: str) -> dict[str, int]:
    """Count the runs of each workflow in one of the runtime's states."""
    rows = workspace.box.fetch(
        "SELECT name, count(*) AS count FROM dbos.workflow_status WHERE status = %s GROUP BY name", [status]
    )
    return {row["name"]: row["count"] for row in rows}


def test_a_run_whose_workflow_no_live_worker_knows_is_stranded_until_one_does(workspace: Workspace) -> None:
    """Q8: never dropped, never failed; it goes on with its place once a worker has the code again."""
    first = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    waiting = workspace.call("waiting")
    number = workspace.waits(waiting).number
    # Its child waits too, which the runtime recovers through a queue of its own.
    parent = workspace.trigger("parent", {"call_id": "of a parent"})
    workspace.queued("waiting", "of a parent")
    first.kill()
    assert workspace.run(waiting).row.stranded
    code = workspace.folder / "workflows" / "calls.py"
    (workspace.folder / "workflows" / "other.py").write_text(
        "from stackbone.workflow import workflow\n\n\n@workflow\nasync def other() -> int:\n    return 1\n"
    )
    code.rename(workspace.folder / "calls.py")
    ignorant = workspace.worker().ready()
    assert workspace.result(workspace.trigger("other")) == 1
    shown = workspace.run(waiting).row
    assert (shown.status, shown.stranded) == ("queued", True)
    assert workspace.slots(waiting)[0].number == number
    assert runs_of(workspace, "PENDING") == {}
    assert runs_of(workspace, "ENQUEUED") == {"place_call": 2, "parent": 1}
    ignorant.kill()
    (workspace.folder / "calls.py").rename(code)
    workspace.worker().ready()
    eventually(lambda: not workspace.run(waiting).row.stranded)
    workspace.client.release(holder)
    workspace.client.release(workspace.result(waiting)["slot_id"])
    assert workspace.result(parent) == {"released": True}
    assert [row.status for row in runs.runs(workflow="place_call", db=workspace.box).items] == ["completed"] * 3


def test_new_code_serves_the_runs_that_wait(workspace: Workspace) -> None:
    """A deployed change does not strand a waiting run: the version of the application is pinned."""
    first = workspace.worker().ready()
    holder = workspace.result(workspace.call("holder"))["slot_id"]
    waiting = workspace.call("waiting")
    workspace.waits(waiting)
    assert first.stop() == 0
    code = workspace.folder / "workflows" / "calls.py"
    code.write_text(code.read_text().replace('note(f"dial {call_id} {slot_id}")', 'note(f"ring {call_id}")'))
    workspace.worker().ready()
    workspace.client.release(holder)
    workspace.result(waiting)
    assert workspace.steps()[-1] == "ring waiting"


def test_a_module_that_does_not_import_is_named(workspace: Workspace) -> None:
    """File, line and error; a worker stops, `dev` runs the others."""
    (workspace.folder / "workflows" / "bad.py").write_text("import os\n\nnonsense()\n")
    strict = workspace.worker()
    assert strict.process.wait(60) == 2
    assert "workflows/bad.py:3: NameError: name 'nonsense' is not defined" in strict.output
    tolerant = workspace.worker("--tolerant").ready()
    assert "workflows/bad.py:3: NameError" in tolerant.output
    assert workspace.result(workspace.call("call"))["slot_id"]
