"""How a limit stands, and what releasing a slot does, in plain words. Pure, over what the queries returned."""

from datetime import datetime, timedelta
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from limits import rules
from limits.queries import Health, LimitState, SlotRow
from studio.templatetags.studio import counted, elapsed_to, grouped, ident, instant, label

_PASS: Final = timedelta(milliseconds=rules.SWEEP_EVERY)
_LATE: Final = timedelta(milliseconds=rules.NOT_HANDING_OUT_AFTER)
_NOTHING: Final = SafeString()


def latest(expiry: datetime | None, now: datetime) -> datetime | None:
    """Return by when a slot that expires then is free at the latest: one pass later; none once that has passed."""
    if expiry is None or expiry + _PASS < now:
        return None
    return expiry + _PASS


def standing(limit: LimitState, next_expiry: datetime | None) -> SafeString:
    """Say how the limit stands.

    `next_expiry` is when the slot expires whose end lets the queue move: the soonest, or as many later as the
    limit is over.
    """
    by = latest(next_expiry, limit.now)
    match limit.health:
        case Health.UNDECLARED:
            return _undeclared(limit)
        case Health.PAUSED:
            return _paused(limit)
        case Health.OVER:
            return _over(limit, by)
        case Health.STUCK:
            return format_html(
                "{} free for {}, yet {}. The 15-second pass may be stopped.",
                counted(limit.free, "slot has been,slots have been"),
                elapsed_to(limit.changed_at, limit.now),
                counted(limit.waiting, "run waits,runs wait"),
            )
        case Health.FILLING:
            return format_html(
                "{} free and {}. Free slots are handed out within 15 seconds.",
                counted(limit.free, "slot is,slots are"),
                counted(limit.waiting, "run waits,runs wait"),
            )
        case Health.FULL:
            return _full(limit, by)
        case Health.OPEN:
            return format_html("{} free.", counted(limit.free, "slot is,slots are"))
        case Health.IDLE:
            return SafeString("Nothing is using this limit.")


def overdue(soonest: datetime | None, now: datetime) -> bool:
    """Tell whether a slot is past its max hold for longer than two passes take."""
    return soonest is not None and now - soonest > _LATE


def after_release(limit: LimitState, head: SlotRow | None) -> SafeString:
    """Say who gets a busy slot of the limit once it is released."""
    if limit.paused:
        return SafeString("Nobody gets it: the limit is paused.")
    if limit.over:
        return format_html(
            "Nobody gets it: {} of {} are {}.",
            grouped(limit.held),
            grouped(limit.capacity.effective),
            _held_word(limit),
        )
    if head is None:
        return SafeString("No run is waiting. The slot becomes free.")
    return format_html("{}, waited {}. It gets the slot at once.", who(head), elapsed_to(head.asked_at, limit.now))


def who(slot: SlotRow) -> str:
    """Name a slot by what a person knows it by: its run, else its label, else its own id."""
    if slot.run_id:
        return ident(slot.run_id)
    return label(slot.label) if slot.label else format_html("slot {}", ident(slot.id))


def what(slot: SlotRow) -> str:
    """Name a slot by what its work calls it: its label, else its run, else its own id."""
    return label(slot.label) if slot.label else who(slot)


def how_it_ended(slot: SlotRow, now: datetime) -> SafeString:
    """Say who took an ended slot out of use, and when."""
    at = instant(slot.ended_at, now)
    match slot.state:
        case "released":
            return format_html("{} released it at {}.", slot.ended_by or "Somebody", at)
        case "expired":
            return format_html("Max hold took it back at {}.", at)
        case "waiting" | "reserved" | "busy":
            return SafeString("Not confirmed · moved to the end of the queue.")
        case "timed_out":
            return format_html("It was never handed out: the run's wait timed out at {}.", at)
        case _:
            return format_html("It was never put to use: it left the queue at {}.", at)


def _full(limit: LimitState, by: datetime | None) -> SafeString:
    capacity = limit.capacity.effective
    return _joined(
        SafeString("The one slot is in use.")
        if capacity == 1
        else format_html("All {} slots are in use.", grouped(capacity)),
        _waits(limit),
        format_html("The next slot frees by {} at the latest.", instant(by, limit.now)) if by else _NOTHING,
    )


def _over(limit: LimitState, by: datetime | None) -> SafeString:
    reserved = format_html(" and {} reserved", grouped(limit.reserved)) if limit.reserved else _NOTHING
    return _joined(
        format_html("{} busy{}, capacity {}.", grouped(limit.busy), reserved, grouped(limit.capacity.effective)),
        SafeString("Nothing is taken back."),
        format_html(
            "{} must free before {}{}.",
            counted(limit.over + 1, "slot,slots"),
            "the queue moves" if limit.waiting else "a new run gets one",
            format_html("; by {} at the latest", instant(by, limit.now)) if by else _NOTHING,
        ),
    )


def _paused(limit: LimitState) -> SafeString:
    assert limit.pause is not None
    reason = format_html(": <bdi>{}</bdi>", limit.pause.reason) if limit.pause.reason else _NOTHING
    return _joined(
        format_html("Paused by {} at {}{}.", limit.pause.by, instant(limit.pause.at, limit.now), reason),
        SafeString("No slot is handed out."),
        format_html("{}.", counted(limit.busy, "busy slot finishes,busy slots finish")) if limit.busy else _NOTHING,
        format_html(
            "{} until {} timeout.",
            counted(limit.waiting, "run waits,runs wait"),
            "its" if limit.waiting == 1 else "their",
        )
        if limit.waiting
        else _NOTHING,
    )


def _undeclared(limit: LimitState) -> SafeString:
    return _joined(
        SafeString("This limit is no longer in stackbone_config.py."),
        format_html(
            "{} running and {} at release or max hold.",
            counted(limit.busy, "busy slot keeps,busy slots keep"),
            "frees" if limit.busy == 1 else "free",
        )
        if limit.busy
        else _NOTHING,
        format_html("{} still served.", counted(limit.waiting, "waiting run is,waiting runs are"))
        if limit.waiting
        else _NOTHING,
        SafeString("New requests for it fail."),
    )


def _waits(limit: LimitState) -> SafeString:
    if not limit.waiting:
        return SafeString("No run waits.")
    return format_html("{}.", counted(limit.waiting, "run waits,runs wait"))


def _held_word(limit: LimitState) -> str:
    return "in use" if limit.reserved else "busy"


def _joined(*sentences: SafeString) -> SafeString:
    return mark_safe(" ".join(sentence for sentence in sentences if sentence))
