"""Rows of a limit's page: how much time each slot has left, what to make of it, and the texts that say so. Pure.

What a row's markup hangs on is its shape; all else are texts that fill it (`studio.templatetags.stencil`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import quote

from limits import rules
from limits.queries import LimitState, SlotRow, Start
from studio import bars, wording
from studio.converters import run_path
from studio.templatetags import studio as pieces

_MILLISECOND: Final = timedelta(milliseconds=1)
# Time runs out: the last part of a slot's hold or a run's wait, but no more than the last few minutes.
_NEAR_HOLD: Final = 0.2
_NEAR_HOLD_MAX: Final = timedelta(minutes=10)
_NEAR_WAIT: Final = 0.1
_NEAR_WAIT_MAX: Final = timedelta(minutes=5)
_LATE: Final = timedelta(milliseconds=rules.OVERDUE_AFTER)


class Given(NamedTuple):
    """What a slot was given by who asked for it: of the rest its row has no text."""

    run: bool
    workflow: bool
    label: bool


class HeldShape(NamedTuple):
    """The shape of a busy or reserved slot's row."""

    state: str
    mark: str
    tone: str
    other_hold: bool
    given: Given


class QueuedShape(NamedTuple):
    """The shape of a waiting slot's row."""

    next: bool
    missed: bool
    too_late: bool
    near: bool
    due: bool
    given: Given


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the rows of all states say."""

    slot: SlotRow
    now: datetime

    @property
    def given(self) -> Given:
        """What there is to say about who asked."""
        return Given(run=bool(self.slot.run_id), workflow=bool(self.slot.workflow), label=bool(self.slot.label))

    @property
    def id(self) -> str:
        """The slot's id."""
        return self.slot.id

    @property
    def run(self) -> str:
        """The run's id."""
        return pieces.ident(self.slot.run_id)

    @property
    def run_path(self) -> str:
        """The run's id as it stands in the address of its page."""
        return run_path(self.slot.run_id or "")

    @property
    def workflow(self) -> str:
        """The workflow's name."""
        return self.slot.workflow or ""

    @property
    def label(self) -> str:
        """The label."""
        return pieces.label(self.slot.label)

    @property
    def copied(self) -> str:
        """The label as a script takes it to copy it."""
        return quote(self.slot.label or "", safe="")

    @property
    def name(self) -> str:
        """What a person knows the slot by: its label, else its run, else its own id."""
        return self.label if self.slot.label else pieces.ident(self.slot.run_id or self.slot.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRow(Row):
    """A busy or reserved slot. `mark` is calm, near, due or overdue."""

    mark: str
    other_hold: int | None
    """Its own max hold in milliseconds, where the limit's has changed since the grant."""
    granted_at: datetime
    ends_at: datetime

    @property
    def tone(self) -> str:
        """The tone of its meter."""
        return {"calm": "calm", "near": "near"}.get(self.mark, "over")

    @property
    def shape(self) -> HeldShape:
        """What its markup hangs on."""
        return HeldShape(self.slot.state, self.mark, self.tone, self.other_hold is not None, self.given)

    @property
    def held(self) -> str:
        """How long it has been held."""
        return pieces.since(self.granted_at, self.now)

    @property
    def left(self) -> str:
        """How long it may still be held."""
        return pieces.left(self.ends_at, self.now)

    @property
    def overdue(self) -> str:
        """How long it has been held beyond its max hold."""
        return pieces.since(self.ends_at, self.now)

    @property
    def hold(self) -> str:
        """Its own max hold, where that is another than the limit's."""
        return pieces.setting(self.other_hold or 0)

    @property
    def passed(self) -> int:
        """How much of its meter is filled, in pixels."""
        start = self.granted_at
        return bars.meter(passed=wording.milliseconds(start, self.now), total=wording.milliseconds(start, self.ends_at))


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRow(Row):
    """A waiting slot."""

    times_out_at: datetime
    start: Start
    near: bool
    """Its wait is about to time out."""
    due: bool
    """Its wait has timed out; the next pass ends it."""

    @property
    def shape(self) -> QueuedShape:
        """What its markup hangs on."""
        return QueuedShape(
            self.slot.position == 1, self.slot.missed > 0, self.start.too_late, self.near, self.due, self.given
        )

    @property
    def position(self) -> str:
        """Its place in the queue."""
        return pieces.grouped(self.slot.position or 0)

    @property
    def waited(self) -> str:
        """How long it has waited."""
        return pieces.since(self.slot.asked_at, self.now)

    @property
    def starts(self) -> str:
        """By when it starts at the latest."""
        return pieces.start_figure(self.start, self.now)

    @property
    def left(self) -> str:
        """How long it may still wait."""
        return pieces.left(self.times_out_at, self.now)


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
        now=limit.now,
        granted_at=slot.granted_at,
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
    return QueuedRow(
        slot=slot,
        now=now,
        times_out_at=slot.times_out_at,
        start=start,
        near=left <= near,
        due=left <= timedelta(0),
    )
