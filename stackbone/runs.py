"""Runs as Studio, the command line and programs see them: read, started and cancelled, without a workflow's code.

Everything here is SQL over the tables of the embedded runtime, DBOS (schema `dbos`), beside those of the engine: a
process that only looks needs no runtime. Instants are aware `datetime`s; a run's input and output are JSON values.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import jsonschema
from psycopg.rows import DictRow

from limits import engine, names, queries
from limits.errors import InvalidValueError, LimitsError, SlotTimeoutError
from limits.pool import Database, default
from limits.queries import Page, SlotRow, Start, Workflow
from stackbone.runtimes.naming import QUEUE, WAITING_STEP
from stackbone.runtimes.stored import error_of, input_of, value_of

STATUSES: Final = ("queued", "running", "completed", "failed", "cancelled")
PAGE_SIZE: Final = 50
_MESSAGE_MAX: Final = 300
"""A refused input is repeated in the error up to so many characters."""

# The runtime's words, and ours.
_STATUS: Final = {
    "ENQUEUED": "queued",
    "DELAYED": "queued",
    "PENDING": "running",
    "SUCCESS": "completed",
    "ERROR": "failed",
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": "failed",
    "CANCELLED": "cancelled",
}


class UnknownRunError(LimitsError):
    """There is no such run."""

    def __init__(self, run_id: str) -> None:
        """`run_id` as it was given."""
        self.run_id = run_id
        super().__init__(f"there is no run {run_id[:80]!r}")

    def __reduce__(self) -> tuple[type["UnknownRunError"], tuple[str]]:
        return type(self), (self.run_id,)


class UnknownWorkflowError(LimitsError):
    """No worker has ever known the workflow."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        """Name the workflow and near matches."""
        self.name = name
        self.near = tuple(near)
        hint = f"; did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        super().__init__(f"no worker knows a workflow {name[:80]!r}{hint}")

    def __reduce__(self) -> tuple[type["UnknownWorkflowError"], tuple[str, tuple[str, ...]]]:
        return type(self), (self.name, self.near)


class RunFailedError(LimitsError):
    """The run ended with an error, or was cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run in a list."""

    id: str
    workflow: str
    status: str
    """One of `STATUSES`."""
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    worker: str | None
    """The identity of the worker that has it, or had it last."""
    waits_for: tuple[str, ...]
    """Names of the limits in whose queues it stands, or whose slot is reserved for it."""
    stranded: bool
    """Whether it has not ended and no live worker knows its workflow (Q8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a run. A runtime records a step when it ends; of the open ones only a wait for a slot is known."""

    number: int
    name: str
    status: str
    """running, completed, failed."""
    started_at: datetime | None
    ended_at: datetime | None
    error: str | None
    slot: SlotRow | None = None
    """Of a wait that is open: its place in the queue; `position` is set while it waits."""
    ahead: tuple[SlotRow, ...] = ()
    """Of a wait that is open: who stands right before it, the nearest first, at most three."""
    start: Start | None = None
    """Of a wait that is open, until a slot is reserved for it: by when it starts at the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run in full."""

    row: RunRow
    input: Any
    output: Any
    error: str | None
    """Type and message, like `SlotTimeoutError: no slot ...`; none unless it failed."""
    forked_from: str | None
    steps: tuple[Step, ...]
    slots: tuple[SlotRow, ...]
    """Every slot it holds, held or waits for, in the order it asked."""
    now: datetime
    error_data: Any = field(default=None, repr=False)


# Of a run: where it waits; and whether a worker that lives has its code.
_ROW: Final = """
    SELECT r.workflow_uuid AS id, r.name AS workflow, r.status,
           to_timestamp(r.created_at / 1000.0) AS created_at,
           to_timestamp(r.started_at_epoch_ms / 1000.0) AS started_at,
           to_timestamp(r.completed_at / 1000.0) AS ended_at,
           r.created_at AS created_ms, r.executor_id AS worker, r.forked_from,
           ARRAY(
               SELECT DISTINCT l.name FROM limits.slot s JOIN limits.limit l ON l.id = s.limit_id
               WHERE s.run_id = r.workflow_uuid AND s.ended_at IS NULL AND s.state <> 'busy' ORDER BY l.name
           ) AS waits_for,
           r.status IN ('ENQUEUED', 'DELAYED', 'PENDING') AND r.name <> ALL (%(known)s) AS stranded
    FROM dbos.workflow_status r
"""


def runs(
    *,
    status: str | None = None,
    workflow: str | None = None,
    waiting: bool = False,
    after: str | None = None,
    count: int = PAGE_SIZE,
    db: Database | None = None,
) -> Page[RunRow]:
    """Return a page of runs, newest first: those in `status`, of `workflow`, or that wait for a slot.

    Raises `InvalidValueError` for a status that is none, and for an `after` that no page gave.
    """
    if status is not None and status not in STATUSES:
        raise InvalidValueError("status", f"must be one of {', '.join(STATUSES)}, got {status[:40]!r}")
    created, run_id = _cursor(after)
    values = {
        "known": _known(db),
        "created": created,
        "id": run_id,
        "count": count,
        "workflow": workflow,
        "statuses": [theirs for theirs, ours in _STATUS.items() if status in (None, ours)],
    }
    if workflow is not None and not _is_storable(workflow):
        return Page(items=[], next=None)
    rows = (db or default()).fetch(
        _ROW
        + " WHERE (r.created_at, r.workflow_uuid) < (%(created)s, %(id)s) AND r.status = ANY (%(statuses)s)"
        + (" AND r.name = %(workflow)s" if workflow is not None else "")
        + (_IN_A_QUEUE if waiting else "")
        + " ORDER BY r.created_at DESC, r.workflow_uuid DESC LIMIT %(count)s + 1",
        values,
    )
    items = [_row(row) for row in rows[:count]]
    more = len(rows) > count
    return Page(items=items, next=f"{rows[count - 1]['created_ms']}_{items[-1].id}" if more else None)


_IN_A_QUEUE: Final = """
    AND r.workflow_uuid IN (
        SELECT s.run_id FROM limits.slot s
        WHERE s.run_id IS NOT NULL AND s.ended_at IS NULL AND s.state IN ('waiting', 'reserved')
          AND s.limit_id IN (SELECT l.id FROM limits.limit l WHERE l.waiting + l.reserved > 0)
    )
"""


def run(run_id: str, *, db: Database | None = None) -> Run | None:
    """Return one run with its steps and slots; none for an id never known, or one that was deleted."""
    if not _is_storable(run_id):
        return None
    database = db or default()
    rows = database.fetch(_ROW + " WHERE r.workflow_uuid = %(id)s", {"known": _known(db), "id": run_id})
    if not rows:
        return None
    payload = database.fetch(
        """
        SELECT limits.clock() AS now,
               coalesce(i.inputs, r.inputs) AS inputs, coalesce(o.output, r.output) AS output,
               coalesce(o.error, r.error) AS error
        FROM dbos.workflow_status r
        LEFT JOIN dbos.workflow_input i ON i.workflow_uuid = r.workflow_uuid
        LEFT JOIN dbos.workflow_output o ON o.workflow_uuid = r.workflow_uuid
        WHERE r.workflow_uuid = %s
        """,
        [run_id],
    )
    slots = queries.slots_of_run(run_id, db=db)
    found = payload[0] if payload else {"now": None, "inputs": None, "output": None, "error": None}
    error, data = error_of(found["error"])
    return Run(
        row=_row(rows[0]),
        input=input_of(found["inputs"]),
        output=value_of(found["output"]),
        error=error,
        error_data=data,
        forked_from=rows[0]["forked_from"],
        steps=_steps(run_id, slots, db),
        slots=tuple(slots),
        now=found["now"] or rows[0]["created_at"],
    )


def workflows(*, db: Database | None = None) -> list[Workflow]:
    """Return the workflows that workers know or knew, from A to Z."""
    return queries.workflows(db=db)


def check_input(workflow: str, given: Any, *, db: Database | None = None) -> None:
    """Raise `UnknownWorkflowError`, or `InvalidValueError` if `given` does not fit the workflow's input schema."""
    known = {each.name: each for each in workflows(db=db)}
    if workflow not in known:
        raise UnknownWorkflowError(workflow, queries.near(workflow, list(known)))
    problem = jsonschema.validators.validator_for(known[workflow].input_schema)(known[workflow].input_schema)
    error = jsonschema.exceptions.best_match(problem.iter_errors(given))
    if error is not None:
        place = "".join(f".{part}" for part in error.absolute_path)
        raise InvalidValueError(f"input{place}", _shortened(error.message))


def trigger(workflow: str, given: Any = None, *, run_id: str | None = None, db: Database | None = None) -> str:
    """Start a run of `workflow` with the JSON value `given` as its input, checked first; return the run's id.

    The run begins as soon as a worker that knows the workflow is free to take it up. The same `run_id` again starts
    nothing; another workflow's is refused. Raises `UnknownWorkflowError`, `InvalidValueError`, `BoxUnreachableError`.
    """
    names.check_run_id(run_id, where="run_id")
    check_input(workflow, given, db=db)
    rows = (db or default()).fetch(
        "SELECT dbos.enqueue_workflow(workflow_name => %s, queue_name => %s, positional_args => ARRAY[%s::json],"
        " workflow_id => %s, application_name => %s, app_version => %s) AS id",
        [workflow, QUEUE, json.dumps(given), run_id, QUEUE, QUEUE],
    )
    started: str = rows[0]["id"]
    found = (db or default()).fetch("SELECT name FROM dbos.workflow_status WHERE workflow_uuid = %s", [started])
    if found and found[0]["name"] != workflow:
        raise InvalidValueError("run_id", f"is that of a run of {found[0]['name']!r}, got {started!r}")
    return started


def cancel(run_id: str, *, actor: engine.Actor, db: Database | None = None) -> bool:
    """Cancel a run and take it out of every queue at once (Q5); tell whether it was still going.

    What it holds stays held (F7). Raises `UnknownRunError`.
    """
    database = db or default()
    if not _is_storable(run_id):
        raise UnknownRunError(run_id)
    # As the runtime's own cancel does; a client of it would be a second pool and a second driver in every Studio.
    rows = database.fetch(
        """
        UPDATE dbos.workflow_status
        SET status = 'CANCELLED', owner_xid = NULL, queue_name = NULL, deduplication_id = NULL,
            started_at_epoch_ms = NULL, updated_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
            completed_at = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        WHERE workflow_uuid = %s AND status IN ('ENQUEUED', 'DELAYED', 'PENDING')
        RETURNING workflow_uuid
        """,
        [run_id],
    )
    engine.withdraw_run(run_id, actor=actor, reason="its run was cancelled", db=database)
    if not rows and not database.fetch("SELECT FROM dbos.workflow_status WHERE workflow_uuid = %s", [run_id]):
        raise UnknownRunError(run_id)
    return bool(rows)


def output_of(run: Run) -> Any:
    """Return the output of a run that has ended; raises `SlotTimeoutError` or `RunFailedError` if it has none."""
    if run.row.status == "completed":
        return run.output
    data = run.error_data
    if run.error is not None and run.error.startswith("SlotTimeoutError:") and isinstance(data, dict):
        raise SlotTimeoutError(data["limiter"], data["timeout"])
    raise RunFailedError(run.error or f"run {run.row.id} is {run.row.status}")


def _is_storable(text: str) -> bool:
    # What no run is called never reaches the database, which refuses some of it.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def _shortened(message: str) -> str:
    return message if len(message) <= _MESSAGE_MAX else f"{message[:_MESSAGE_MAX]}…"


def _known(db: Database | None) -> list[str]:
    return [each.name for each in workflows(db=db) if each.live]


def _row(row: DictRow) -> RunRow:
    return RunRow(
        id=row["id"],
        workflow=row["workflow"] or "",
        status=_STATUS.get(row["status"], "running"),
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        worker=row["worker"],
        waits_for=tuple(row["waits_for"]),
        stranded=row["stranded"],
    )


def _steps(run_id: str, slots: Sequence[SlotRow], db: Database | None) -> tuple[Step, ...]:
    rows = (db or default()).fetch(
        """
        SELECT o.function_id AS number, o.function_name AS name, o.error,
               to_timestamp(o.started_at_epoch_ms / 1000.0) AS started_at,
               to_timestamp(o.completed_at_epoch_ms / 1000.0) AS ended_at
        FROM dbos.operation_outputs o WHERE o.workflow_uuid = %s ORDER BY o.function_id
        """,
        [run_id],
    )
    steps = [
        Step(
            number=row["number"],
            name=row["name"],
            status="failed" if row["error"] else "completed",
            started_at=row["started_at"],
            ended_at=row["ended_at"],
            error=error_of(row["error"])[0],
        )
        for row in rows
    ]
    recorded = {step.number for step in steps}
    for slot in slots:
        number = slot.step
        # Live, and its step not recorded: the wait is open, or closes this moment.
        if slot.ended_at is None and slot.state != "busy" and number is not None and number not in recorded:
            steps.append(
                Step(
                    number=number,
                    name=WAITING_STEP.format(limit=slot.limit),
                    status="running",
                    started_at=slot.asked_at,
                    ended_at=None,
                    error=None,
                    slot=slot,
                    ahead=tuple(queries.ahead(slot, db=db)),
                    start=queries.start(slot, db=db),
                )
            )
    return tuple(sorted(steps, key=lambda step: step.number))


def _cursor(after: str | None) -> tuple[int, str]:
    if after is None:
        return 2**63 - 1, ""
    created, _, run_id = after.partition("_")
    if not (created.isascii() and created.isdigit() and len(created) <= 18 and run_id and _is_storable(run_id)):
        raise InvalidValueError("after", f"must come from the page before, got {after[:40]!r}")
    return int(created), run_id
