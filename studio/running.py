"""Runs as their pages show them: filters, durations, open waits, the time a slot has left. Pure."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from limits.queries import SlotRow
from stackbone.runs import Run, RunRow, Step
from studio import wording

SHOWN_MAX: Final = 100_000
"""Signs of an input or output that a page shows; the rest is cut off."""

_WAITING: Final = "waiting"
_FILTERS: Final = {
    "": pgettext_lazy("runs", "All"),
    "queued": pgettext_lazy("runs", "Queued"),
    "running": pgettext_lazy("runs", "Running"),
    "completed": pgettext_lazy("runs", "Completed"),
    "failed": pgettext_lazy("runs", "Failed"),
    "cancelled": pgettext_lazy("runs", "Cancelled"),
}
# Of all workflows, and of one.
_NONE: Final = {
    "": (_("No run was found."), _("No run of “{workflow}” was found.")),
    "queued": (_("No run is queued."), _("No run of “{workflow}” is queued.")),
    "running": (_("No run is running."), _("No run of “{workflow}” is running.")),
    "completed": (_("No run is completed."), _("No run of “{workflow}” is completed.")),
    "failed": (_("No run is failed."), _("No run of “{workflow}” is failed.")),
    "cancelled": (_("No run is cancelled."), _("No run of “{workflow}” is cancelled.")),
    _WAITING: (_("No run waits for a slot."), _("No run of “{workflow}” waits for a slot.")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A part of the runs that a link leads to."""

    word: str
    status: str | None
    waiting: str | None
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run at the instant `now`."""

    row: RunRow
    now: datetime

    @property
    def ended(self) -> bool:
        """Whether there is nothing left of it to cancel."""
        return self.row.status not in ("queued", "running")

    @property
    def duration(self) -> int | None:
        """Milliseconds since its start, until its end if it has one; none for a run that never started."""
        if self.row.started_at is None:
            return None
        if not self.ended:
            return wording.milliseconds(self.row.started_at, self.now)
        return wording.milliseconds(self.row.started_at, self.row.ended_at) if self.row.ended_at else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """A step, and where it stands in a queue if it waits for a slot."""

    step: Step
    now: datetime

    @property
    def duration(self) -> int | None:
        """Milliseconds since its start, until its end if it has one; none if its start is unknown."""
        start, end = self.step.started_at, self.step.ended_at or self.now
        return wording.milliseconds(start, end) if start else None

    @property
    def reserved(self) -> bool:
        """Whether a slot is kept for it."""
        return self.step.slot is not None and self.step.slot.state == "reserved"

    @property
    def due(self) -> bool:
        """Whether its time is up, and the next pass ends the wait or passes the slot on."""
        return self.until is not None and self.until <= self.now

    @property
    def until(self) -> datetime | None:
        """When its wait times out, or the slot kept for it goes to the next."""
        slot = self.step.slot
        if slot is None:
            return None
        return slot.reserved_until if slot.state == "reserved" else slot.times_out_at

    @property
    def further(self) -> int:
        """How many stand ahead beside those who are named."""
        slot = self.step.slot
        return max(0, slot.position - 1 - len(self.step.ahead)) if slot and slot.position else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLine:
    """A slot of a run."""

    slot: SlotRow
    now: datetime

    @property
    def until(self) -> datetime | None:
        """When a live slot is taken back, goes to the next, or its wait times out."""
        match self.slot.state:
            case "busy":
                return self.slot.expires_at
            case "reserved":
                return self.slot.reserved_until
            case "waiting":
                return self.slot.times_out_at
            case _:
                return None

    @property
    def due(self) -> bool:
        """Whether that instant has passed."""
        return self.until is not None and self.until <= self.now


def filters(status: str, *, waiting: bool) -> list[Filter]:
    """Return the links that choose among the runs: by status, or those that wait for a slot."""
    links = [
        Filter(word=str(word), status=each or None, waiting=None, chosen=each == status and not waiting)
        for each, word in _FILTERS.items()
    ]
    return [*links, Filter(word=gettext("Waiting for a slot"), status=None, waiting="1", chosen=waiting)]


def none(status: str, workflow: str, *, waiting: bool) -> SafeString:
    """Say that there is no run such as the address asks for."""
    said = _NONE[_WAITING if waiting else status][bool(workflow)]
    return format_html(str(said), workflow=format_html("<bdi>{}</bdi>", workflow))


def steps(run: Run) -> list[StepLine]:
    """Return the lines of a run's steps."""
    return [StepLine(step=step, now=run.now) for step in run.steps]


def slots(run: Run) -> list[SlotLine]:
    """Return the lines of a run's slots, as it asked for them."""
    return [SlotLine(slot=slot, now=run.now) for slot in run.slots]


def pretty(value: Any) -> str:
    """Write a JSON value over several lines; what is too long for a page is cut, and says so."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if len(text) <= SHOWN_MAX:
        return text
    cut = len(text) - SHOWN_MAX
    more = ngettext("… {n} more character", "… {n} more characters", cut).format(n=wording.grouped(cut))
    return f"{text[:SHOWN_MAX]}\n{more}"
