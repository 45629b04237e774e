"""`stackbone trigger` and `runs`, as people and scripts run them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from limits import engine
from limits.pool import Database
from stackbone import runs
from tests.cli.conftest import Done, run

SCHEMA = {"type": "object", "properties": {"call_id": {"type": "string"}}, "required": ["call_id"]}
TREE = {"$ref": "#/$defs/Tree", "$defs": {"Tree": {"type": "object"}}}
type Stackbone = Callable[..., Done]


@pytest.fixture
def stackbone(box: Database, tmp_path: Path, declare: Callable[..., engine.Synced]) -> Stackbone:
    """Lend the command, over a box with one full limit and a workflow that a dead worker knew."""
    declare(calls=(1, 60_000))
    worker = box.fetch("INSERT INTO limits.worker (kind, name, joined_at) VALUES ('worker', '1', now()) RETURNING id")
    known = [
        engine.Workflow(name="place_call", input_schema=SCHEMA, description=""),
        engine.Workflow(name="tidy", input_schema={"type": "object"}, description=""),
        engine.Workflow(name="plant", input_schema=TREE, description=""),
    ]
    engine.know_workflows(worker[0]["id"], known)
    engine.request("calls", key="holder", label="holder", run_id="run-of-holder")

    def stackbone(*arguments: str | bytes, **more: object) -> Done:
        return run(*arguments, cwd=tmp_path, **more)

    return stackbone


def waiting() -> str:
    """Start a run that waits, and return its id."""
    run_id = runs.trigger("place_call", {"call_id": "call-17"})
    engine.request("calls", key=f"{run_id}/1", run_id=run_id, workflow="place_call", runtime="dbos", label="call-17")
    return run_id


def test_trigger_prints_the_id_of_the_run_it_started(stackbone: Stackbone) -> None:
    """Plain and as JSON; that no live worker knows the workflow is a note, no refusal (Q8)."""
    plain = stackbone("trigger", "place_call", "--input", '{"call_id": "call-1"}')
    assert plain.code == 0
    assert "No live worker knows place_call" in plain.stderr
    found = runs.run(plain.stdout.strip())
    assert found is not None
    assert (found.row.workflow, found.row.status, found.input) == ("place_call", "queued", {"call_id": "call-1"})
    as_json = stackbone("trigger", "place_call", "--input", "-", "--json", stdin=None, input=b'{"call_id": "call-2"}')
    assert runs.run(json.loads(as_json.stdout)["id"]) is not None


@pytest.mark.parametrize("workflow", ["tidy", "plant"])
def test_trigger_without_input_gives_an_object_where_one_is_due(stackbone: Stackbone, workflow: str) -> None:
    """A workflow without required fields starts as it is."""
    found = runs.run(stackbone("trigger", workflow).stdout.strip())
    assert found is not None
    assert found.input == {}


def test_trigger_reads_a_file_with_a_byte_order_mark(stackbone: Stackbone, tmp_path: Path) -> None:
    """As some editors write it."""
    (tmp_path / "call.json").write_bytes(b'\xef\xbb\xbf{"call_id": "call-3"}')
    found = runs.run(stackbone("trigger", "place_call", "--input", "@call.json").stdout.strip())
    assert found is not None
    assert found.input == {"call_id": "call-3"}


def test_trigger_with_the_same_id_starts_one_run(stackbone: Stackbone) -> None:
    """A5 in kind."""
    for _ in range(2):
        assert stackbone("trigger", "tidy", "--id", "tidy-of-today").stdout == "tidy-of-today\n"
    assert len(runs.runs().items) == 1


REFUSED = [
    pytest.param(["place_call", "--input", "{"], 2, "--input: must be JSON: ", id="no JSON"),
    pytest.param(["place_call", "--input", '{"call_id": NaN}'], 2, "NaN is not JSON", id="NaN"),
    pytest.param(["tidy", "--input", "[1e999]"], 2, "the number '1e999' is too large", id="infinite"),
    pytest.param(["tidy", "--input", "9" * 5_000], 2, "a number has 5,000 digits", id="digits"),
    pytest.param(["tidy", "--input", "[" * 100_000], 2, "--input: is nested too deeply", id="nested"),
    pytest.param(["tidy", "--input", b'"caf\xe9"'], 2, "must be UTF-8 text, and is not at byte 5", id="no UTF-8"),
    pytest.param(["tidy", "--input", "-"], 2, "--input: must be JSON: ", id="empty"),
    pytest.param(["tidy", "--input", "@a\u202e"], 2, "can't read @a\\u202e", id="hostile file"),
    pytest.param(["tidy", "--id", ""], 2, "--id: must have 1 to 150 characters, got 0", id="empty id"),
    pytest.param(["tidy", "--id", "x" * 151], 2, "--id: must have 1 to 150 characters, got 151", id="long id"),
    pytest.param(["tidy", "--id", "a\nb"], 2, "--id: must not hold the control character U+000A", id="odd id"),
    pytest.param(["place_call", "--input", "@nowhere"], 2, "can't read @nowhere", id="no file"),
    pytest.param(["place_call"], 1, "input: 'call_id' is a required property", id="missing"),
    pytest.param(["place_call", "--input", '{"call_id": 5}'], 1, "input.call_id: 5 is not of type", id="type"),
    pytest.param(["place_call", "--input", f'{{"call_id": [{"1," * 999}1]}}'], 1, "input.call_id: [1, 1", id="huge"),
    pytest.param(["place_cal"], 1, "no worker knows a workflow 'place_cal'; did you mean 'place_call'?", id="unknown"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), REFUSED)
def test_trigger_refuses_what_it_can_not_start(
    stackbone: Stackbone, arguments: list[str | bytes], code: int, message: str
) -> None:
    """A clear line names the field; nothing is started."""
    done = stackbone("trigger", *arguments)
    assert done.code == code
    assert message in done.refusal
    assert len(done.refusal) < 400
    assert runs.runs().items == []


def test_show_tells_a_run_as_the_interface_says(stackbone: Stackbone) -> None:
    """Q3: the keys of the interface; the open step is running, since the request."""
    run_id = waiting()
    shown = json.loads(stackbone("runs", "show", run_id, "--json").stdout)
    assert list(shown)[:7] == ["id", "workflow", "status", "input", "output", "error", "steps"]
    assert (shown["id"], shown["workflow"], shown["input"]) == (run_id, "place_call", {"call_id": "call-17"})
    assert (shown["output"], shown["error"], shown["stranded"]) == (None, None, True)
    (step,) = shown["steps"]
    assert (step["name"], step["status"], step["ended_at"]) == ("Esperando hueco · calls", "running", None)
    assert step["started_at"] == shown["slots"][0]["asked_at"]
    told = stackbone("runs", "show", run_id).stdout
    assert "Stranded: no live worker knows the workflow 'place_call'" in told
    assert re.search(
        r"position 1, next in line; times out in (1d|23h) \S+\. It starts by .* UTC at the latest\.\n", told
    )
    behind = stackbone("runs", "show", waiting()).stdout
    assert f"position 2, behind {run_id}" in behind


def test_list_filters_and_goes_on(stackbone: Stackbone) -> None:
    """Newest first; by status, workflow and waiting; page by page."""
    queued = runs.trigger("tidy", {})
    run_id = waiting()
    listed = json.loads(stackbone("runs", "list", "--json").stdout)
    assert [row["id"] for row in listed] == [run_id, queued]
    assert [row["id"] for row in json.loads(stackbone("runs", "list", "--waiting", "--json").stdout)] == [run_id]
    assert json.loads(stackbone("runs", "list", "--status", "failed", "--json").stdout) == []
    assert "calls" in stackbone("runs", "list", "--workflow", "place_call").stdout
    first = stackbone("runs", "list", "--count", "1").stdout
    cursor = first.splitlines()[-1].removeprefix("More: --after ")
    rest = json.loads(stackbone("runs", "list", "--after", cursor, "--json").stdout)
    assert [row["id"] for row in rest] == [queued]
    assert stackbone("runs", "list", "--after", "x").code == 1
    assert stackbone("runs", "list", "--status", "late").code == 2


def test_cancel_takes_the_run_out_of_the_queue_at_once(stackbone: Stackbone) -> None:
    """Q5, C1: without --yes a pipe is refused; ended already is 0 and says so; unknown is 1."""
    run_id = waiting()
    assert "say --yes" in stackbone("runs", "cancel", run_id).refusal
    assert stackbone("runs", "cancel", run_id, "--yes").stdout == f"Cancelled run {run_id}.\n"
    found = runs.run(run_id)
    assert found is not None
    assert (found.row.status, found.slots[0].state) == ("cancelled", "withdrawn")
    again = stackbone("runs", "cancel", run_id, "--yes")
    assert (again.code, again.stdout) == (0, f"Nothing changed: run {run_id} had already ended (cancelled).\n")
    assert json.loads(stackbone("runs", "cancel", run_id, "--yes", "--json").stdout) == {"cancelled": False}
    for command in (("runs", "show", b"\xff"), ("runs", "cancel", b"\xff", "--yes")):
        assert "there is no run" in stackbone(*command).refusal
    assert stackbone("runs", "list", "--workflow", b"\xff").stdout == "No runs.\n"
    for command in (("runs", "cancel", "nope", "--yes"), ("runs", "show", "nope")):
        unknown = stackbone(*command)
        assert (unknown.code, unknown.refusal) == (1, "there is no run 'nope'")


def test_cancel_names_what_the_run_still_holds(stackbone: Stackbone, box: Database) -> None:
    """F7: the end of a run frees no slot."""
    run_id = waiting()
    box.fetch("UPDATE limits.limit SET capacity = 2 RETURNING 1")
    slot_id = str(engine.confirm(runs.run(run_id).slots[0].id).slot_id)  # type: ignore[union-attr]
    told = stackbone("runs", "cancel", run_id, "--yes").stdout
    assert f"stackbone limits release {slot_id} --yes" in told


def test_show_tells_the_error_of_each_step(stackbone: Stackbone, box: Database) -> None:
    """On its own line, whatever it holds."""
    run_id = runs.trigger("tidy", {})
    error = json.dumps({"name": "ValueError", "message": "first\nsecond\u202e"})
    box.fetch(
        "INSERT INTO dbos.operation_outputs (workflow_uuid, function_id, function_name, error)"
        " VALUES (%s, 1, 'dial_out', %s) RETURNING 1",
        [run_id, error],
    )
    *_, step = stackbone("runs", "show", run_id).stdout.splitlines()
    assert step.split()[:2] == ["1", "failed"]
    assert step.endswith(r"dial_out: ValueError: first second\u202e")
