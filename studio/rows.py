"""Rows of a limit's page: how much time each slot has left, and what to make of it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from limits import rules
from limits.queries import LimitState, SlotRow, Start

_MILLISECOND: Final = timedelta(milliseconds=1)
# Time runs out: the last part of a slot's hold or a run's wait, but no more than the last few minutes.
_NEAR_HOLD: Final = 0.2
_NEAR_HOLD_MAX: Final = timedelta(minutes=10)
_NEAR_WAIT: Final = 0.1
_NEAR_WAIT_MAX: Final = timedelta(minutes=5)
_LATE: Final = timedelta(milliseconds=rules.OVERDUE_AFTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRow:
    """A busy or reserved slot. `mark` is calm, near, due or overdue."""

    slot: SlotRow
    mark: str
    other_hold: int | None
    """Its own max hold in milliseconds, where the limit's has changed since the grant."""
    ends_at: datetime

    @property
    def tone(self) -> str:
        """The tone of its meter."""
        return {"calm": "calm", "near": "near"}.get(self.mark, "over")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRow:
    """A waiting slot."""

    slot: SlotRow
    start: Start
    near: bool
    """Its wait is about to time out."""
    due: bool
    """Its wait has timed out; the next pass ends it."""


def held(slots: Iterable[SlotRow], limit: LimitState) -> list[HeldRow]:
    """Return the rows of busy and reserved slots."""
    return [_held(slot, limit) for slot in slots]


def queued(slots: Iterable[SlotRow], limit: LimitState, starts: Iterable[Start]) -> list[QueuedRow]:
    """Return the rows of a page of the queue with the start of each."""
    return [_queued(slot, limit.now, start) for slot, start in zip(slots, starts, strict=True)]


def _held(slot: SlotRow, limit: LimitState) -> HeldRow:
    ends_at = slot.reserved_until if slot.state == "reserved" else slot.expires_at
    assert slot.granted_at is not None
    assert ends_at is not None
    hold = ends_at - slot.granted_at
    left = ends_at - limit.now
    return HeldRow(
        slot=slot,
        mark=_mark(left, near=min(hold * _NEAR_HOLD, _NEAR_HOLD_MAX)),
        other_hold=None if slot.state == "reserved" else _other_hold(hold, limit),
        ends_at=ends_at,
    )


def _mark(left: timedelta, *, near: timedelta) -> str:
    if left < -_LATE:
        return "overdue"
    if left <= timedelta(0):
        return "due"
    return "near" if left <= near else "calm"


def _other_hold(hold: timedelta, limit: LimitState) -> int | None:
    own = hold // _MILLISECOND
    # A hold written down to the microsecond may be a hair off.
    return own if abs(own - limit.max_hold.effective) > 1 else None


def _queued(slot: SlotRow, now: datetime, start: Start) -> QueuedRow:
    assert slot.times_out_at is not None
    left = slot.times_out_at - now
    near = min((slot.times_out_at - slot.asked_at) * _NEAR_WAIT, _NEAR_WAIT_MAX)
    return QueuedRow(slot=slot, start=start, near=left <= near, due=left <= timedelta(0))
