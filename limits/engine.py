"""Every change to limits and slots. Each function is one SQL call, which is one transaction of its own.

What the box does by itself stands in `housekeeping`. A slot's life, one row from its request on (`sql/`, one file an operation):

    request ─┬─ a slot is free, nobody waits ─────────────▶ busy ─┬─ release ──────▶ released
             │                                               ▲    └─ max hold ─────▶ expired
             └─ else ─▶ waiting ── grant ──▶ reserved ─ confirm
                          │  ▲                │  │
                          │  └─ not confirmed ┘  │
                          ├─ timeout ────────────┼────────────────────────────────▶ timed_out
                          └─ withdraw ───────────┴────────────────────────────────▶ withdrawn

Lock order, for every operation: the limit's advisory lock, then its row, then its slots; several limits in id
order (only `declare` and `withdraw_run` take several). Whatever frees a slot grants it in the same transaction, so no free slot
stands beside a waiter after any commit, unless the limit is paused.
"""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from limits import durations, names, queries, rules
from limits.answers import Actor, Asked, Declared, Edited, Released, Swept, Synced, Workflow
from limits.errors import (
    ChangedMeanwhileError,
    InvalidValueError,
    ProcessGoneError,
    UnknownLimitError,
    WorkspaceMismatchError,
)
from limits.housekeeping import next_wake, prune, roll_up, sweep
from limits.pool import Database, default

__all__ = [
    "PROCESS_LOCK_CLASS",
    "SYSTEM",
    "Actor",
    "Asked",
    "Declared",
    "Edited",
    "Released",
    "Swept",
    "Synced",
    "Workflow",
    "abandon",
    "check",
    "confirm",
    "declare",
    "edit",
    "join",
    "know_workflows",
    "next_wake",
    "pause",
    "prune",
    "release",
    "request",
    "reset",
    "resume",
    "roll_up",
    "sweep",
    "withdraw",
    "withdraw_run",
]

PROCESS_LOCK_CLASS: Final = 1818846575
"""First key of the session lock by which a process proves that it lives; the second is its id from `join`."""

_AUDITED: Final = frozenset({"studio", "cli", "api"})
_FIELDS: Final = ("capacity", "max_hold")


SYSTEM: Final = Actor(name="system", source="system")


def declare(workspace: str, limits: Mapping[str, Declared], *, db: Database | None = None) -> Synced:
    """Bring the declared values in line with a config, in one transaction (D6 to D8).

    Raises `WorkspaceMismatchError` if the database belongs to another workspace, `InvalidValueError` for a
    value out of range or more than `rules.LIMITS_MAX` limits; the database is then as it was.
    """
    if len(limits) > rules.LIMITS_MAX:
        raise InvalidValueError("limits", f"must be at most {rules.LIMITS_MAX:,}, got {len(limits):,}")
    for name, declared in limits.items():
        where = f'limits["{name}"]'
        names.check_limit_name(name, where=where)
        _check_settings(declared.capacity, declared.max_hold, where=where)
    wanted = {name: {"capacity": d.capacity, "max_hold": d.max_hold} for name, d in limits.items()}
    row = _call(
        "SELECT workspace, added, changed, removed, granted FROM limits.declare(%s, %s)",
        (workspace, Jsonb(wanted)),
        db,
    )
    owner = row.pop("workspace")
    if owner != workspace:
        raise WorkspaceMismatchError(
            f"this database belongs to the workspace {owner!r}, not to {workspace!r}; "
            "give each workspace a database of its own"
        )
    return Synced(**row)


def request(
    limit: str,
    *,
    key: str,
    label: str | None = None,
    timeout: int = rules.TIMEOUT_DEFAULT,
    run_id: str | None = None,
    workflow: str | None = None,
    worker_id: int | None = None,
    asker: uuid.UUID | None = None,
    runtime: str | None = None,
    db: Database | None = None,
) -> Asked:
    """Ask for a slot of `limit`: busy at once, or queued for `timeout` milliseconds (A2); 0 never queues (A6).

    `key` names the call, which never holds two slots (A5). `worker_id`, from `join`, is the process that waits,
    `asker` the one of several with the same key who may `abandon` the slot. `runtime` is the one whose run `run_id` is:
    once that has ended the answer is `run_ended`, and a replayed call finds how it ended before (A5).
    Raises `UnknownLimitError` (A4), `InvalidValueError`, and `ProcessGoneError` where the process must join anew.
    """
    names.check_key(key, where=f"{limit}: key")
    names.check_label(label, where=f"{limit}: label")
    names.check_id(run_id, where=f"{limit}: run_id")
    names.check_id(workflow, where=f"{limit}: workflow")
    if not 0 <= timeout <= rules.TIMEOUT_MAX:
        raise InvalidValueError(f"{limit}: timeout", f"must be 0 to {rules.TIMEOUT_MAX} ms, got {timeout}")
    row = _call(
        'SELECT outcome, slot_id, "position", wait_left FROM limits.request(%s, %s, %s, %s, %s, %s, %s, %s, %s)',
        (_asked_name(limit, db), key, label, timeout, run_id, workflow, worker_id, asker, runtime),
        db,
    )
    if row["outcome"] == "gone":
        raise ProcessGoneError
    _raise_if_unknown(limit, row["outcome"], db)
    return Asked(
        slot_id=str(row["slot_id"]) if row["slot_id"] else None,
        state=row["outcome"],
        position=row["position"],
        wait_left=row["wait_left"],
    )


def confirm(slot_id: str, *, db: Database | None = None) -> Asked:
    """Make a reservation busy (Q6), and tell how the slot stands; idempotent, harmless in every state."""
    if not names.is_slot_id(slot_id):
        return Asked(slot_id=None, state="unknown")
    row = _call("SELECT outcome, wait_left FROM limits.confirm(%s)", (slot_id,), db)
    known = row["outcome"] != "unknown"
    return Asked(slot_id=slot_id if known else None, state=row["outcome"], wait_left=row["wait_left"])


def release(
    slot_id: str,
    *,
    actor: Actor,
    reason: str | None = None,
    key: str | None = None,
    db: Database | None = None,
) -> Released:
    """Give a busy slot back, and grant it to the next in the queue (F1, F2, F6).

    Any text is taken as an id; one that is not a busy slot's changes nothing. `key` names the call: its retry
    gets the same answer. Raises `InvalidValueError` for a reason that is too long.
    """
    names.check_reason(reason, where="reason")
    if not names.is_slot_id(slot_id):
        return Released(released=False, state=None, limit=None, granted=0)
    row = _call(
        "SELECT released, state, limit_name AS limit, granted FROM limits.release(%s, %s, %s, %s, %s, %s)",
        (slot_id, key or uuid.uuid4().hex, actor.name, actor.source, reason, actor.source in _AUDITED),
        db,
    )
    return Released(**row)


def withdraw(slot_id: str, *, actor: Actor, reason: str | None = None, db: Database | None = None) -> bool:
    """Take a waiting or reserved slot out of the queue (F5), and tell whether it was one; idempotent."""
    if not names.is_slot_id(slot_id):
        return False
    row = _call("SELECT limits.withdraw(%s, %s, %s) AS withdrawn", (slot_id, actor.name, reason), db)
    return bool(row["withdrawn"])


def withdraw_run(run_id: str, *, actor: Actor, reason: str | None = None, db: Database | None = None) -> int:
    """Take a run that has ended out of every queue it waits in (Q5); return how many places it had.

    A run that is alive keeps them. What a run holds stays held (F7).
    """
    row = _call("SELECT limits.withdraw_run(%s, %s, %s) AS withdrawn", (run_id, actor.name, reason), db)
    withdrawn: int = row["withdrawn"]
    return withdrawn


def abandon(
    limit: str, key: str, *, asker: uuid.UUID | None = None, actor: Actor, db: Database | None = None
) -> str | None:
    """Give back what the call named by `key` holds or waits for, unless another `asker` took it over.

    Return its state before, none for nothing.
    """
    row = _call("SELECT limits.abandon(%s, %s, %s, %s) AS state", (_asked_name(limit, db), key, asker, actor.name), db)
    state: str | None = row["state"]
    return state


def edit(
    limit: str,
    *,
    actor: Actor,
    capacity: int | None = None,
    expected_capacity: int | None = None,
    max_hold: int | None = None,
    expected_max_hold: int | None = None,
    reason: str | None = None,
    db: Database | None = None,
) -> Edited:
    """Override capacity (slots), max hold (milliseconds), or both together (O1 to O5); none leaves a value alone.

    `expected_…` is the effective value the person saw. Raises `UnknownLimitError`, `InvalidValueError`,
    `ChangedMeanwhileError`; nothing has changed then.
    """
    _check_settings(capacity, max_hold, where=limit)
    names.check_reason(reason, where=f"{limit}: reason")
    row = _call(
        "SELECT outcome, field, current, granted FROM limits.edit(%s, %s, %s, %s, %s, %s, %s, %s)",
        (
            _asked_name(limit, db),
            capacity,
            expected_capacity,
            max_hold,
            expected_max_hold,
            actor.name,
            actor.source,
            reason,
        ),
        db,
    )
    if row["outcome"] == "conflict":
        seen = expected_capacity if row["field"] == "capacity" else expected_max_hold
        raise ChangedMeanwhileError(limit, row["field"], seen=seen or 0, current=row["current"])
    return _edited(limit, row, db)


def reset(
    limit: str,
    field: str,
    *,
    actor: Actor,
    expected: int | None = None,
    reason: str | None = None,
    db: Database | None = None,
) -> Edited:
    """End the override of `field` ("capacity" or "max_hold"): the value follows the config again (O1).

    Without an override nothing changes, and the answer says so (O5). `expected` is the effective value the
    person saw. Raises `UnknownLimitError`, `ChangedMeanwhileError`, `InvalidValueError`.
    """
    if field not in _FIELDS:
        raise InvalidValueError(f"{limit}: field", f"must be capacity or max_hold, got {field!r}")
    names.check_reason(reason, where=f"{limit}: reason")
    row = _call(
        "SELECT outcome, field, current, granted FROM limits.reset(%s, %s, %s, %s, %s, %s)",
        (_asked_name(limit, db), field, expected, actor.name, actor.source, reason),
        db,
    )
    if row["outcome"] == "conflict":
        raise ChangedMeanwhileError(limit, field, seen=expected or 0, current=row["current"])
    return _edited(limit, row, db)


def pause(limit: str, *, actor: Actor, reason: str | None = None, db: Database | None = None) -> Edited:
    """Stop handing out slots (O6); a limit that is paused already stays as it is. Raises `UnknownLimitError`."""
    return _pause(limit, pause=True, actor=actor, reason=reason, db=db)


def resume(limit: str, *, actor: Actor, reason: str | None = None, db: Database | None = None) -> Edited:
    """Hand out slots again, at once to whoever waits (O6, F4). Raises `UnknownLimitError`."""
    return _pause(limit, pause=False, actor=actor, reason=reason, db=db)


def join(kind: str, *, name: str, db: Database | None = None) -> int:
    """Enter the box as a process of `kind` "client" or "worker"; return its id.

    The process proves that it lives by a session lock on (`PROCESS_LOCK_CLASS`, id) (Q7).
    """
    process_id: int = _call("SELECT limits.join_box(%s, %s) AS id", (kind, name), db)["id"]
    return process_id


def know_workflows(worker_id: int, workflows: Sequence[Workflow], *, db: Database | None = None) -> None:
    """Say which workflows the worker `worker_id` has the code of, in place of what it said before (Q8)."""
    known = [{"name": w.name, "input_schema": w.input_schema, "description": w.description} for w in workflows]
    _call("SELECT limits.know_workflows(%s, %s)", (worker_id, Jsonb(known)), db)


def check(*, db: Database | None = None) -> list[str]:
    """Return a sentence for each invariant that does not hold; none when all is well. Reads every live slot."""
    return [row["problem"] for row in (db or default()).fetch("SELECT limits.check_box() AS problem")]


def _call(statement: LiteralString, parameters: tuple[Any, ...], db: Database | None) -> DictRow:
    return (db or default()).fetch(statement, parameters)[0]


def _pause(limit: str, *, pause: bool, actor: Actor, reason: str | None, db: Database | None) -> Edited:
    names.check_reason(reason, where=f"{limit}: reason")
    row = _call(
        "SELECT outcome, granted FROM limits.pause(%s, %s, %s, %s, %s)",
        (_asked_name(limit, db), pause, actor.name, actor.source, reason),
        db,
    )
    return _edited(limit, row, db)


def _edited(limit: str, row: DictRow, db: Database | None) -> Edited:
    _raise_if_unknown(limit, row["outcome"], db)
    return Edited(changed=row["outcome"] == "changed", granted=row["granted"])


def _raise_if_unknown(limit: str, outcome: str, db: Database | None) -> None:
    if outcome == "unknown_limit":
        raise UnknownLimitError(limit, queries.near_names(limit, db=db))
    if outcome == "undeclared":
        raise UnknownLimitError(limit, declared=False)


def _asked_name(limit: str, db: Database | None) -> str:
    # A name that no limit can have is not looked up: it may hold what PostgreSQL refuses, like NUL.
    if not names.is_limit_name(limit):
        raise UnknownLimitError(limit, queries.near_names(limit, db=db))
    return limit


def _check_settings(capacity: int | None, max_hold: int | None, *, where: str) -> None:
    if capacity is not None:
        names.check_capacity(capacity, where=f"{where}.capacity")
    if max_hold is not None:
        durations.parse_max_hold(max_hold, where=f"{where}.max_hold")
