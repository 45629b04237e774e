"""Runs for tests of their pages: workflows that a worker knows, runs of them, and what a runtime would record."""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from limits import engine, pool, queries
from limits.queries import SlotRow, Workflow
from stackbone import runs

CALL: Final = {
    "type": "object",
    "properties": {
        "call_id": {"type": "string", "description": "The provider's id."},
        "tries": {"type": "integer", "default": 3},
        "rate": {"type": "number", "default": 1.5},
        "record": {"type": "boolean", "default": True},
        "queue": {"enum": ["slow", "fast"], "default": "fast"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["call_id"],
}
_numbers = itertools.count()
LINES: Final = {
    "type": "object",
    "properties": {"lines": {"type": "array", "items": {"type": "integer"}}},
    "required": ["lines"],
}


def know(*names: str, schema: dict[str, Any] | None = None) -> int:
    """Have a worker that is gone know workflows; return its id."""
    worker = engine.join("worker", name=f"worker-{next(_numbers)}")
    engine.know_workflows(
        worker,
        [Workflow(name=n, input_schema=CALL if schema is None else schema, description="", live=True) for n in names],
    )
    return worker


@contextmanager
def alive(url: str, worker: int) -> Iterator[None]:
    """Let a worker live: a session holds its lock."""
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("SELECT pg_advisory_lock(%s, %s)", [engine.PROCESS_LOCK_CLASS, worker])
        yield
        # A session that is closed keeps its locks for a moment yet.
        session.execute("SELECT pg_advisory_unlock_all()")


def start(workflow: str = "place_call", given: Any = None, *, run_id: str | None = None) -> str:
    """Start a run; it stays queued, as no worker runs here."""
    return runs.trigger(workflow, {"call_id": "call-1"} if given is None else given, run_id=run_id)


def waits(limit: str, run_id: str, *, step: int = 1, label: str | None = None) -> SlotRow:
    """Have a run ask for a slot of the limit, as its step of that number."""
    # A run that is none is somebody else's, of an older runtime.
    runtime = "dbos" if runs.run(run_id) else None
    asked = engine.request(
        limit, key=f"{run_id}/{step}", label=label, run_id=run_id, workflow="place_call", runtime=runtime
    )
    assert asked.slot_id is not None
    slot = queries.slot(asked.slot_id)
    assert slot is not None
    return slot


def turn(
    box: pool.Database, run_id: str, status: str, *, output: Any = None, error: dict[str, Any] | None = None
) -> None:
    """Let a run have the runtime's status, with what came of it."""
    box.fetch(
        """
        UPDATE dbos.workflow_status SET status = %s, output = %s, error = %s, executor_id = 'blue',
               started_at_epoch_ms = created_at + 1000,
               completed_at = CASE WHEN %s IN ('SUCCESS', 'ERROR', 'CANCELLED') THEN created_at + 66000 END
        WHERE workflow_uuid = %s RETURNING 1
        """,
        [status, _stored(output), _stored(error), status, run_id],
    )


def record(box: pool.Database, run_id: str, number: int, name: str, *, error: dict[str, Any] | None = None) -> None:
    """Record a step that has ended after two seconds."""
    box.fetch(
        """
        INSERT INTO dbos.operation_outputs
            (workflow_uuid, function_id, function_name, output, error, started_at_epoch_ms, completed_at_epoch_ms)
        SELECT %s, %s, %s, 'null', %s, r.created_at + 1000, r.created_at + 3000
        FROM dbos.workflow_status r WHERE r.workflow_uuid = %s RETURNING 1
        """,
        [run_id, number, name, _stored(error), run_id],
    )


def _stored(value: Any) -> str | None:
    return None if value is None else json.dumps(value)
