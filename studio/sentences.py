"""How a limit stands, and what releasing a slot does, in plain words. Pure, over what the queries returned."""

from datetime import datetime

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from limits import wording
from limits.queries import LimitState, SlotRow
from studio.templatetags.studio import elapsed_to, grouped, ident, instant, label, told


def standing(limit: LimitState, next_expiry: datetime | None) -> SafeString:
    """Say how the limit stands; `next_expiry` is when the slot expires whose end lets the queue move."""
    return told(wording.standing(limit, next_expiry), limit.now)


def overdue(limit: LimitState) -> SafeString:
    """Say that a slot is kept though its time is up; nothing where none is."""
    return told(wording.overdue(limit), limit.now)


def after_release(limit: LimitState, head: SlotRow | None) -> SafeString:
    """Say who gets a busy slot of the limit once it is released."""
    if limit.paused:
        return SafeString(gettext("Nobody gets it: the limit is paused."))
    if limit.over:
        said = (
            ngettext(
                "Nobody gets it: {n} of {most} is in use.", "Nobody gets it: {n} of {most} are in use.", limit.held
            )
            if limit.reserved
            else ngettext(
                "Nobody gets it: {n} of {most} is busy.", "Nobody gets it: {n} of {most} are busy.", limit.held
            )
        )
        return format_html(said, n=grouped(limit.held), most=grouped(limit.capacity.effective))
    if head is None:
        return SafeString(gettext("No run is waiting. The slot becomes free."))
    return format_html(
        gettext("{who}, waited {time}. It gets the slot at once."),
        who=who(head),
        time=elapsed_to(head.asked_at, limit.now),
    )


def who(slot: SlotRow) -> str:
    """Name a slot by what a person knows it by: its run, else its label, else its own id."""
    if slot.run_id:
        return ident(slot.run_id)
    return label(slot.label) if slot.label else format_html(gettext("slot {id}"), id=ident(slot.id))


def what(slot: SlotRow) -> str:
    """Name a slot by what its work calls it: its label, else its run, else its own id."""
    return label(slot.label) if slot.label else who(slot)


def how_it_ended(slot: SlotRow, now: datetime) -> SafeString:
    """Say who took an ended slot out of use, and when."""
    at = instant(slot.ended_at, now)
    match slot.state:
        case "released" if slot.ended_by:
            return format_html(gettext("{who} released it at {at}."), who=slot.ended_by, at=at)
        case "released":
            return format_html(gettext("Somebody released it at {at}."), at=at)
        case "expired":
            return format_html(gettext("Max hold took it back at {at}."), at=at)
        case "waiting" | "reserved" | "busy":
            return SafeString(gettext("Not confirmed · moved to the end of the queue."))
        case "timed_out":
            return format_html(gettext("It was never handed out: the run's wait timed out at {at}."), at=at)
        case _:
            return format_html(gettext("It was never put to use: it left the queue at {at}."), at=at)
