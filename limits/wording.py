"""How a limit stands, in words: the same on every screen and in every shell. Pure, over what the queries returned.

A sentence comes in parts, since a screen and a shell write an instant, and what somebody typed, each in its own way.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from limits.durations import format_elapsed
from limits.queries import Health, LimitState, latest

OVERDUE: Final = "A slot is past its max hold. The 15-second pass may be stopped."


class Given(str):
    """A text from outside; whoever shows it keeps it from being anything else."""

    __slots__ = ()


type Part = str | Given | datetime


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


def health(limit: LimitState) -> str:
    """Write how a limit stands in a word or two: "Full", "Over by 2", "Paused, 4 finishing"."""
    match limit.health:
        case Health.OVER:
            return f"Over by {grouped(limit.over)}"
        case Health.PAUSED if limit.busy:
            return f"Paused, {grouped(limit.busy)} finishing"
        case state:
            return str(state)


def standing(limit: LimitState, next_expiry: datetime | None) -> list[Part]:
    """Say why the queue stands, or how free the limit is.

    `next_expiry` is when the slot expires whose end lets the queue move. That a slot is overdue is told apart, by
    `OVERDUE`; no instant is promised then.
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
            return [_stuck(limit)]
        case Health.FILLING:
            free = counted(limit.free, "slot is", "slots are")
            return [f"{free} free and {_waits(limit)}. Free slots are handed out within 15 seconds."]
        case Health.FULL:
            return _full(limit, by)
        case Health.OPEN:
            return [f"{counted(limit.free, 'slot is', 'slots are')} free."]
        case _:
            return ["Nothing is using this limit."]


def _stuck(limit: LimitState) -> str:
    free = counted(limit.free, "slot has been", "slots have been")
    since = format_elapsed((limit.now - limit.changed_at) // timedelta(milliseconds=1))
    return f"{free} free for {since}, yet {_waits(limit)}. The 15-second pass may be stopped."


def _full(limit: LimitState, by: datetime | None) -> list[Part]:
    capacity = limit.capacity.effective
    used = "The one slot is in use." if capacity == 1 else f"All {grouped(capacity)} slots are in use."
    waits = f"{_waits(limit)}." if limit.waiting else "No run waits."
    frees: list[Part] = [" The next slot frees by ", by, " at the latest."] if by else []
    return [f"{used} {waits}", *frees]


def _over(limit: LimitState, by: datetime | None) -> list[Part]:
    reserved = f" and {grouped(limit.reserved)} reserved" if limit.reserved else ""
    moves = "the queue moves" if limit.waiting else "a new run gets one"
    return [
        f"{grouped(limit.busy)} busy{reserved}, capacity {grouped(limit.capacity.effective)}. Nothing is taken back."
        f" {counted(limit.over + 1, 'slot', 'slots')} must free before {moves}",
        *(["; by ", by, " at the latest."] if by else ["."]),
    ]


def _paused(limit: LimitState) -> list[Part]:
    assert limit.pause is not None
    said: list[Part] = ["Paused by ", Given(limit.pause.by), " at ", limit.pause.at]
    if limit.pause.reason:
        said += [": ", Given(limit.pause.reason)]
    said.append(". No slot is handed out.")
    if limit.busy:
        said.append(f" {counted(limit.busy, 'busy slot finishes', 'busy slots finish')}.")
    if limit.waiting:
        said.append(f" {_waits(limit)} until {'its' if limit.waiting == 1 else 'their'} timeout.")
    return said


def _undeclared(limit: LimitState) -> list[Part]:
    said: list[Part] = ["This limit is no longer in stackbone_config.py."]
    if limit.busy:
        keeps = counted(limit.busy, "busy slot keeps", "busy slots keep")
        said.append(f" {keeps} running and {'frees' if limit.busy == 1 else 'free'} at release or max hold.")
    if limit.waiting:
        said.append(f" {counted(limit.waiting, 'waiting run is', 'waiting runs are')} still served.")
    return [*said, " New requests for it fail."]


def _waits(limit: LimitState) -> str:
    return counted(limit.waiting, "run waits", "runs wait")
