"""What the reads return: frozen values, the same for Studio, CLI and API."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from limits import rules


class Health(StrEnum):
    """How a limit stands, by the words for programs; `limits.wording` has those for people. The first match counts.

    What somebody decided about the whole limit comes first. Then what should never be, the graver one before the
    other: runs stand still though slots are free, and slots are kept though their time is up. Both come before "Over",
    which somebody chose by lowering a capacity and which the numbers beside it tell as well.
    """

    UNDECLARED = "no_longer_declared"
    PAUSED = "paused"
    STUCK = "not_handing_out"
    OVERDUE = "overdue"
    OVER = "over"
    FULL = "full"
    FILLING = "filling"
    OPEN = "open"
    IDLE = "idle"


class Unbounded(StrEnum):
    """Why nobody can tell by when a waiting run starts at the latest."""

    PAUSED = "paused"
    STUCK = "not_handing_out"
    OVERDUE = "overdue"
    FAR = "beyond_the_busy_slots"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """By when a waiting run starts at the latest, if nobody releases earlier; or why that is unknown."""

    by: datetime | None
    why: Unbounded | None
    """Set where `by` is none."""
    too_late: bool
    """Whether its wait may time out before."""


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
    """Who stopped the handing out of slots, when, and why."""

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
    next_expiry: datetime | None
    """When the first of the busy slots expires; none while none is busy."""
    changed_at: datetime
    revision: int
    now: datetime

    @property
    def held(self) -> int:
        """Slots that count against the capacity."""
        return self.busy + self.reserved

    @property
    def free(self) -> int:
        """Slots that could be handed out; never negative."""
        return max(0, self.capacity.effective - self.held)

    @property
    def over(self) -> int:
        """How many more slots are held than the capacity allows, after it was lowered."""
        return max(0, self.held - self.capacity.effective)

    @property
    def paused(self) -> bool:
        """Whether no slot is handed out until somebody resumes."""
        return self.pause is not None

    @property
    def overridden(self) -> bool:
        """Whether a person set capacity or max hold."""
        return self.capacity.override is not None or self.max_hold.override is not None

    @property
    def stuck(self) -> bool:
        """Whether runs have waited for longer than two passes of the sweep though slots are free."""
        filling = self.free > 0 and self.waiting > 0 and not self.paused
        return filling and self._ago(self.changed_at) > rules.NOT_HANDING_OUT_AFTER

    @property
    def overdue(self) -> bool:
        """Whether a slot is busy for longer than two passes of the sweep past its max hold."""
        return self.next_expiry is not None and self._ago(self.next_expiry) > rules.OVERDUE_AFTER

    @property
    def health(self) -> Health:
        """How the limit stands, in one word."""
        stands = self.stands
        above = (Health.UNDECLARED, Health.PAUSED, Health.STUCK)
        return Health.OVERDUE if self.overdue and stands not in above else stands

    @property
    def stands(self) -> Health:
        """How the limit stands, whether a slot is overdue or not."""
        if not self.declared:
            return Health.UNDECLARED
        if self.paused:
            return Health.PAUSED
        if self.over:
            return Health.OVER
        if self.free and self.waiting:
            return Health.STUCK if self.stuck else Health.FILLING
        if not self.free:
            return Health.FULL
        return Health.OPEN if self.held else Health.IDLE

    def _ago(self, at: datetime) -> float:
        return (self.now - at) / timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRow:
    """One slot. Fields that do not apply to its state are none."""

    id: str
    limit: str
    state: str
    """waiting, reserved, busy; or ended: released, expired, timed_out, withdrawn."""
    number: int
    label: str | None
    run_id: str | None
    workflow: str | None
    position: int | None
    """Place in the queue, from 1; only while waiting, and only in a page of `slots` or from `head`."""
    asked_at: datetime
    granted_at: datetime | None
    confirmed_at: datetime | None
    reserved_until: datetime | None
    expires_at: datetime | None
    times_out_at: datetime | None
    """Only while waiting or reserved: a reservation that lapses waits on, until then."""
    missed: int
    """How often a reservation of this slot lapsed."""
    ended_at: datetime | None
    ended_by: str | None
    end_reason: str | None
    key: str
    """Names the call that asked; of a run's call the number of its step comes last."""

    @property
    def step(self) -> int | None:
        """The number of the step that asked, in the run; none for a client's slot, and before a rewind."""
        number = self.key.rpartition("/")[2]
        return int(number) if self.run_id and number.isascii() and number.isdigit() and len(number) < 10 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow that workers know, or knew."""

    name: str
    input_schema: dict[str, Any]
    """JSON Schema of its input."""
    description: str
    live: bool
    """Whether a worker that lives has its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page[T]:
    """A part of a list, and where the next one begins."""

    items: list[T]
    next: str | None
    """Opaque text for `after=` of the following page; none on the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the record of what people, and deploys, changed."""

    id: int
    at: datetime
    limit: str
    kind: str
    """capacity, max_hold, pause, resume, release, declare, undeclare."""
    before: str | None
    after: str | None
    """Plain text: slots, or milliseconds, or a slot's state."""
    actor: str
    source: str
    """studio, cli, api, deploy."""
    reason: str | None
    slot_id: str | None
    label: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A stretch of history that ends now: `count` points, each the highest of its `step`."""

    key: str
    step: timedelta
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """How a limit stood in one step of a range, which begins at `at`.

    `busy`, `reserved` and `capacity` are those of the moment at which most slots were held; `waiting` is the highest.
    """

    at: datetime
    busy: int
    reserved: int
    waiting: int
    capacity: int
    expired: int = 0
    """Slots taken back at max hold."""
    by_hand: int = 0
    """Slots that a person released."""
    edits: int = 0
    """Changes of the effective capacity."""
    pauses: int = 0
    resumes: int = 0

    @property
    def held(self) -> int:
        """Slots that counted against the capacity."""
        return self.busy + self.reserved


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A limit's history over a range, oldest first; none in place of a point of which nothing is known."""

    range: Range
    points: list[Point | None]
    starts: datetime
    """Where the first point begins."""
    begins: datetime
    """Where the history of the limit begins."""
    stopped: datetime | None
    """Since when nobody has written the history down, though the limit has changed; none while all is well."""
    longest_wait: int | None
    """Of the waits that ended in the range, and the one of the queue's head, in milliseconds; none without a wait."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """How many slots were held in one step of a limit's last hour, of how many."""

    held: int
    capacity: int
