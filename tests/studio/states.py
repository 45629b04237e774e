"""Limits and slots as the queries return them, made by hand for tests of what is said about them."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from limits import rules
from limits.queries import LimitState, Pause, Setting, SlotRow

NOW: Final = datetime(2026, 12, 2, 14, 32, 8, tzinfo=UTC)


def ago(**parts: float) -> datetime:
    """Return the instant that far before `NOW`."""
    return NOW - timedelta(**parts)


def ahead(**parts: float) -> datetime:
    """Return the instant that far after `NOW`."""
    return NOW + timedelta(**parts)


def setting(effective: int, *, declared: int | None = None) -> Setting:
    """Return a value, overridden if another one is declared."""
    overridden = declared is not None
    return Setting(
        effective=effective,
        declared=declared if declared is not None else effective,
        override=effective if overridden else None,
        override_by="ana@example.com" if overridden else None,
        override_at=ago(minutes=22) if overridden else None,
        override_reason=None,
    )


def limit(
    capacity: int = 20,
    *,
    busy: int = 0,
    reserved: int = 0,
    waiting: int = 0,
    paused: bool = False,
    **given: Any,
) -> LimitState:
    """Return a limit; `declared_capacity` and `declared_max_hold` make overrides."""
    max_hold = given.pop("max_hold", 45 * rules.MINUTE)
    return LimitState(
        name=given.pop("name", "voice-calls"),
        declared=given.pop("declared", True),
        capacity=setting(capacity, declared=given.pop("declared_capacity", None)),
        max_hold=setting(max_hold, declared=given.pop("declared_max_hold", None)),
        busy=busy,
        reserved=reserved,
        waiting=waiting,
        pause=Pause(by="ana@example.com", at=ago(minutes=22), reason=given.pop("reason", None)) if paused else None,
        oldest_asked_at=given.pop("oldest", ago(minutes=12) if waiting else None),
        next_expiry=given.pop("next_expiry", None),
        changed_at=given.pop("changed_at", NOW),
        revision=7,
        now=NOW,
        **given,
    )


def slot(state: str = "busy", **given: Any) -> SlotRow:
    """Return a slot in `state`, asked for 12 minutes ago."""
    granted = state in ("busy", "reserved", "released", "expired")
    values: dict[str, Any] = {
        "id": str(uuid.uuid4()),
        "limit": "voice-calls",
        "state": state,
        "number": 1,
        "label": "call_9f31c2",
        "run_id": "run_8Hq2Zt",
        "workflow": "place-call",
        "position": None,
        "asked_at": ago(minutes=12),
        "granted_at": ago(minutes=12) if granted else None,
        "confirmed_at": ago(minutes=12) if state == "busy" else None,
        "reserved_until": ahead(minutes=1) if state == "reserved" else None,
        "expires_at": ahead(minutes=33) if granted else None,
        "times_out_at": ahead(minutes=18) if state == "waiting" else None,
        "missed": 0,
        "ended_at": None,
        "ended_by": None,
        "end_reason": None,
        "key": "key-1",
    }
    return SlotRow(**(values | given))
