"""Every read that Studio, CLI and API share, as frozen values, so no two places can disagree on a number.

Instants are aware `datetime`s by the database's clock; durations are whole milliseconds.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Health(StrEnum):
    """How a limit stands, in the words that screens, CLI and API use; the first that matches counts."""

    UNDECLARED = "No longer declared"
    PAUSED = "Paused"
    OVER = "Over"
    STUCK = "Not handing out"
    FULL = "Full"
    FILLING = "Filling"
    OPEN = "Open"
    IDLE = "Idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value of a limit: capacity (slots) or max hold (milliseconds), and where it comes from."""

    effective: int
    declared: int
    override: int | None
    override_by: str | None
    override_at: datetime | None
    override_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    by: str
    at: datetime
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitState:
    """A limit as it stands; `now` is the instant at which it was read."""

    name: str
    declared: bool
    capacity: Setting
    max_hold: Setting
    busy: int
    reserved: int
    waiting: int
    pause: Pause | None
    oldest_asked_at: datetime | None
    """When the head of the queue asked; none while nobody waits."""
    changed_at: datetime
    revision: int
    now: datetime

    # Properties: held, free, over, paused, health (Health).


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRow:
    """One slot. Fields that do not apply to its state are none."""

    id: str
    limit: str
    state: str
    """waiting, reserved, busy; or ended: released, expired, timed_out, withdrawn."""
    label: str | None
    run_id: str | None
    workflow: str | None
    position: int | None
    """Place in the queue, from 1; only while waiting."""
    asked_at: datetime
    granted_at: datetime | None
    confirmed_at: datetime | None
    reserved_until: datetime | None
    expires_at: datetime | None
    times_out_at: datetime
    missed: int
    """How often a reservation of this slot lapsed."""
    ended_at: datetime | None
    ended_by: str | None
    end_reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page[T]:
    items: list[T]
    next: str | None
    """Opaque text for `after=` of the following page; none on the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the record of what people (and deploys) changed."""

    id: int
    at: datetime
    limit: str
    kind: str
    """capacity, max_hold, pause, resume, release, declare, undeclare."""
    before: str | None
    after: str | None
    """Plain text: a number, a setting like "45m", a slot's state."""
    actor: str
    source: str
    """studio, cli, api, deploy."""
    reason: str | None
    slot_id: str | None
    label: str | None


# def limits(*, db=None) -> list[LimitState]: A-Z; without limits no longer declared that are empty (D8)
# def limit(name, *, db=None) -> LimitState | None
# def limit_names(*, db=None) -> list[str]
# def near_names(name, *, db=None) -> list[str]
# def slots(limit, *, state, after=None, count=100, q=None, order="oldest"|"expiry", db=None) -> Page[SlotRow]
#     state "busy" | "reserved" | "waiting"; raises InvalidValueError for a bad `after`
# def slot(slot_id, *, db=None) -> SlotRow | None
# def head(limit, *, db=None) -> SlotRow | None: first of the queue
# def expiries(limit, *, skip=0, count=1, db=None) -> list[datetime]: busy slots' expiries, soonest first
# def last_expiry(limit, *, db=None) -> datetime | None
# def changes(*, limit=None, after=None, count=50, db=None) -> Page[Change]
