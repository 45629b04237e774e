"""How a limit stands, in words: the same on every screen and in every shell. Pure, over what the queries returned.

A text is a list of whole sentences with named places, so that a screen can say each in another language and put an
instant, or what somebody typed, into its place in its own way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from limits.durations import format_elapsed
from limits.queries import Health, LimitState, Start, Unbounded, latest


class Given(str):
    """A text from outside; whoever shows it keeps it from being anything else."""

    __slots__ = ()


type Value = int | str | datetime


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a word or two that stand alone. `%(number)s` and its like are places for `values`."""

    one: str
    many: str | None
    """The plural of `one`; none where nothing is counted."""
    number: int
    """What is counted; one of the values too."""
    values: Mapping[str, Value]

    @property
    def english(self) -> str:
        """The sentence with its places still open."""
        return self.one if self.many is None or self.number == 1 else self.many


# What `xgettext` finds the sentences by: --keyword=said:1 --keyword=said_of:1,2
def said(text: str, **values: Value) -> Sentence:
    """Return a sentence that counts nothing."""
    return Sentence(text, None, 1, values)


def said_of(one: str, many: str, number: int, **values: Value) -> Sentence:
    """Return a sentence that counts something, in its two forms."""
    return Sentence(one, many, number, {"number": number, **values})


def grouped(number: int) -> str:
    """Write a whole number with its thousands apart: "100,000"."""
    return f"{number:,}"


def counted(number: int, one: str, many: str) -> str:
    """Write a number with its noun: "1 run", "9,261 runs"."""
    return f"{grouped(number)} {one if number == 1 else many}"


def clock(at: datetime, *, now: datetime | None = None) -> str:
    """Write an instant in UTC: "14:32:08 UTC" on the day of `now`, else "1 Dec 14:32 UTC"."""
    at = at.astimezone(UTC)
    if now is not None and at.date() == now.astimezone(UTC).date():
        return f"{at:%H:%M:%S} UTC"
    year = f" {at.year}" if now is not None and at.year != now.astimezone(UTC).year else ""
    return f"{at.day} {at:%b}{year} {at:%H:%M} UTC"


_HEALTH: Final = {
    Health.UNDECLARED: said("No longer declared"),
    Health.PAUSED: said("Paused"),
    Health.STUCK: said("Not handing out"),
    Health.OVERDUE: said("Overdue"),
    Health.FULL: said("Full"),
    Health.FILLING: said("Filling"),
    Health.OPEN: said("Open"),
    Health.IDLE: said("Idle"),
}


def health(limit: LimitState) -> Sentence:
    """Say how a limit stands in a word or two: "Full", "Over by 2", "Paused, 4 finishing"."""
    match limit.health:
        case Health.OVER:
            return said("Over by %(over)s", over=limit.over)
        case Health.PAUSED if limit.busy:
            return said("Paused, %(busy)s finishing", busy=limit.busy)
        case state:
            return _HEALTH[state]


_PASS_MAY_BE_STOPPED: Final = said("The 15-second pass may be stopped.")
_UNBOUNDED: Final = {
    Unbounded.PAUSED: said("Nobody can tell by when it starts: the limit is paused."),
    Unbounded.STUCK: said("Nobody can tell by when it starts: the limit is not handing out."),
    Unbounded.OVERDUE: said("Nobody can tell by when it starts: a slot is past its max hold."),
    Unbounded.FAR: said("Nobody can tell by when it starts: its place is beyond the busy slots."),
}


def start(found: Start) -> list[Sentence]:
    """Say by when a waiting run starts at the latest, or why nobody can tell."""
    if found.why is not None:
        return [_UNBOUNDED[found.why]]
    assert found.by is not None
    by = said("It starts by %(at)s at the latest.", at=found.by)
    return [by, said("Its wait may time out first.")] if found.too_late else [by]


def overdue(limit: LimitState) -> list[Sentence]:
    """Say that a slot is kept though its time is up; nothing where none is."""
    return [said("A slot is past its max hold."), _PASS_MAY_BE_STOPPED] if limit.overdue else []


def standing(limit: LimitState, next_expiry: datetime | None) -> list[Sentence]:
    """Say why the queue stands, or how free the limit is.

    `next_expiry` is when the slot expires whose end lets the queue move. That a slot is overdue is told apart, by
    `overdue`; no instant is promised then.
    """
    by = None if limit.overdue else latest(next_expiry, limit.now)
    match limit.stands:
        case Health.UNDECLARED:
            return _undeclared(limit)
        case Health.PAUSED:
            return _paused(limit)
        case Health.OVER:
            return _over(limit, by)
        case Health.STUCK:
            return _stuck(limit)
        case Health.FILLING:
            return [_free(limit), _waits(limit), said("Free slots are handed out within 15 seconds.")]
        case Health.FULL:
            return _full(limit, by)
        case Health.OPEN:
            return [_free(limit)]
        case _:
            return [said("Nothing is using this limit.")]


def _undeclared(limit: LimitState) -> list[Sentence]:
    told = [said("This limit is no longer in stackbone_config.py.")]
    if limit.busy:
        told.append(
            said_of(
                "%(number)s busy slot keeps running and frees at release or max hold.",
                "%(number)s busy slots keep running and free at release or max hold.",
                limit.busy,
            )
        )
    if limit.waiting:
        told.append(
            said_of(
                "%(number)s waiting run is still served.", "%(number)s waiting runs are still served.", limit.waiting
            )
        )
    return [*told, said("New requests for it fail.")]


def _paused(limit: LimitState) -> list[Sentence]:
    assert limit.pause is not None
    by, at, reason = Given(limit.pause.by), limit.pause.at, limit.pause.reason
    told = [
        said("Paused by %(by)s at %(at)s: %(reason)s.", by=by, at=at, reason=Given(reason))
        if reason
        else said("Paused by %(by)s at %(at)s.", by=by, at=at),
        said("No slot is handed out."),
    ]
    if limit.busy:
        told.append(said_of("%(number)s busy slot finishes.", "%(number)s busy slots finish.", limit.busy))
    if limit.waiting:
        told.append(
            said_of(
                "%(number)s run waits until its timeout.",
                "%(number)s runs wait until their timeout.",
                limit.waiting,
            )
        )
    return told


def _over(limit: LimitState, by: datetime | None) -> list[Sentence]:
    busy, capacity, ends = limit.busy, limit.capacity.effective, limit.over + 1
    return [
        said(
            "%(busy)s busy and %(reserved)s reserved, capacity %(capacity)s.",
            busy=busy,
            reserved=limit.reserved,
            capacity=capacity,
        )
        if limit.reserved
        else said("%(busy)s busy, capacity %(capacity)s.", busy=busy, capacity=capacity),
        said("Nothing is taken back."),
        said_of(
            "%(number)s slot must free before the queue moves.",
            "%(number)s slots must free before the queue moves.",
            ends,
        )
        if limit.waiting
        else said_of(
            "%(number)s slot must free before a new run gets one.",
            "%(number)s slots must free before a new run gets one.",
            ends,
        ),
        *([said("That is by %(at)s at the latest.", at=by)] if by else []),
    ]


def _stuck(limit: LimitState) -> list[Sentence]:
    return [
        said_of(
            "%(number)s slot has been free for %(since)s.",
            "%(number)s slots have been free for %(since)s.",
            limit.free,
            since=format_elapsed((limit.now - limit.changed_at) // timedelta(milliseconds=1)),
        ),
        said_of("Yet %(number)s run waits.", "Yet %(number)s runs wait.", limit.waiting),
        _PASS_MAY_BE_STOPPED,
    ]


def _full(limit: LimitState, by: datetime | None) -> list[Sentence]:
    return [
        said_of("The one slot is in use.", "All %(number)s slots are in use.", limit.capacity.effective),
        _waits(limit) if limit.waiting else said("No run waits."),
        *([said("The next slot frees by %(at)s at the latest.", at=by)] if by else []),
    ]


def _free(limit: LimitState) -> Sentence:
    return said_of("%(number)s slot is free.", "%(number)s slots are free.", limit.free)


def _waits(limit: LimitState) -> Sentence:
    return said_of("%(number)s run waits.", "%(number)s runs wait.", limit.waiting)
