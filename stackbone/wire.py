"""How limits and slots look as JSON: the same for the command line and the HTTP API."""

from datetime import UTC, datetime
from typing import Any

from limits.durations import format_setting
from limits.queries import LimitState, SlotRow, Start
from stackbone.runs import Run, RunRow


def limit_json(limit: LimitState) -> dict[str, Any]:
    """Return a limit's state; capacities are numbers of slots, max holds settings like `45m`."""
    return {
        "name": limit.name,
        "capacity": {
            "effective": limit.capacity.effective,
            "declared": limit.capacity.declared,
            "override": limit.capacity.override,
        },
        "max_hold": {
            "effective": format_setting(limit.max_hold.effective),
            "declared": format_setting(limit.max_hold.declared),
            "override": None if limit.max_hold.override is None else format_setting(limit.max_hold.override),
        },
        "busy": limit.busy,
        "reserved": limit.reserved,
        "waiting": limit.waiting,
        "free": limit.free,
        "paused": limit.paused,
        "declared": limit.declared,
        "state": str(limit.health),
    }


def slot_json(slot: SlotRow, start: Start | None = None) -> dict[str, Any]:
    """Return a slot; instants are RFC 3339 in UTC, absent ones null. `start` is that of a waiting one."""
    return {
        "id": slot.id,
        "state": slot.state,
        "label": slot.label,
        "run_id": slot.run_id,
        "workflow": slot.workflow,
        "position": slot.position,
        "asked_at": instant(slot.asked_at),
        "granted_at": instant(slot.granted_at),
        "expires_at": instant(slot.expires_at),
        "reserved_until": instant(slot.reserved_until),
        "times_out_at": instant(slot.times_out_at),
        "starts_by": instant(start.by) if start is not None else None,
    }


def run_row_json(run: RunRow) -> dict[str, Any]:
    """Return a run as it stands in a list."""
    return {
        "id": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "created_at": instant(run.created_at),
        "started_at": instant(run.started_at),
        "ended_at": instant(run.ended_at),
        "worker": run.worker,
        "waits_for": list(run.waits_for),
        "stranded": run.stranded,
    }


def run_json(run: Run) -> dict[str, Any]:
    """Return a run in full; its error is one text, null unless it failed."""
    starts = {step.slot.id: step.start for step in run.steps if step.slot is not None}
    return {
        "id": run.row.id,
        "workflow": run.row.workflow,
        "status": run.row.status,
        "input": run.input,
        "output": run.output,
        "error": run.error,
        "steps": [
            {
                "name": step.name,
                "status": step.status,
                "started_at": instant(step.started_at),
                "ended_at": instant(step.ended_at),
            }
            for step in run.steps
        ],
        **{name: value for name, value in run_row_json(run.row).items() if name not in ("id", "workflow", "status")},
        "forked_from": run.forked_from,
        "slots": [{"limit": slot.limit, **slot_json(slot, starts.get(slot.id))} for slot in run.slots],
    }


def instant(at: datetime | None) -> str | None:
    """Write an instant as RFC 3339 in UTC, like `2026-12-02T14:32:08.000000Z`."""
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
