"""What an edit will do, said before it is done. Pure, over a limit's state and the expiries of its busy slots."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from limits.queries import LimitState, latest
from studio.templatetags.studio import change, counted, grouped, instant, setting

_JUMP: Final = 10
"""A capacity raised to so many times its present value is asked about once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """One sentence about one field. A warning needs an explicit yes before the value is stored."""

    field: str
    text: SafeString
    warning: bool = False


def must_end(limit: LimitState, capacity: int) -> int:
    """Return how many held slots must end before the next run starts under `capacity`; 0 for none."""
    return max(0, limit.held - capacity + 1)


def capacity(limit: LimitState, new: int, expiry: datetime | None) -> list[Preview]:
    """Say what a new capacity does.

    `expiry` is when the last of the slots expires that must end first (`must_end`); none where that is unknown.
    """
    old = limit.capacity.effective
    if new == old:
        return []
    below = new < limit.held
    does = _below(limit, new, expiry) if below else _lowered(limit) if new < old else _raised(limit, new)
    texts = [Preview(field="capacity", text=_said(old, new, does), warning=below and new < old)]
    if new >= _JUMP * old:
        texts.append(Preview(field="capacity", text=_jump(old, new), warning=True))
    return texts


def max_hold(limit: LimitState, new: int, last_expiry: datetime | None) -> list[Preview]:
    """Say what a new max hold does; `last_expiry` is when the last of the busy slots expires."""
    old = limit.max_hold.effective
    if new == old:
        return []
    keeps = SafeString("No slot is busy now.")
    if limit.busy:
        keeps = format_html(
            "{} expiry{}.",
            counted(limit.busy, "busy slot keeps its,busy slots keep their"),
            format_html(" (latest {})", instant(last_expiry, limit.now)) if last_expiry else "",
        )
    text = format_html("{} for new slots. {}", change(setting(old), setting(new)), keeps)
    return [Preview(field="max_hold", text=text)]


def same_as_declared(limit: LimitState, field: str, new: int) -> list[Preview]:
    """Say that storing a value that changes to the declared one is not a reset (O5)."""
    setting_now = getattr(limit, field)
    if new != setting_now.declared or new == setting_now.effective:
        return []
    text = SafeString("Same as the declared value. This still stores an override. Use Reset to follow the config.")
    return [Preview(field=field, text=text)]


def resumed(limit: LimitState) -> SafeString:
    """Say what resuming a paused limit does at once."""
    if not limit.waiting:
        return SafeString("No run is waiting. New requests get a slot again.")
    if not limit.free:
        return format_html(
            "No slot is free: {} when slots free.", counted(limit.waiting, "waiting run starts,waiting runs start")
        )
    return _starts(limit, limit.free)


def _said(old: int, new: int, does: SafeString) -> SafeString:
    return format_html("{}. {}", change(grouped(old), grouped(new)), does)


def _raised(limit: LimitState, new: int) -> SafeString:
    free = new - limit.held
    if not free:
        return format_html("{} in use, so no run starts yet.", grouped(limit.held))
    if limit.paused:
        return SafeString("The limit is paused: no run starts until it is resumed.")
    if not limit.waiting:
        return format_html("No run is waiting. {} free.", counted(free, "slot is,slots are"))
    return _starts(limit, free)


def _starts(limit: LimitState, free: int) -> SafeString:
    if limit.waiting > free:
        return format_html("Starts {} of {} waiting runs at once.", grouped(free), grouped(limit.waiting))
    rest = free - limit.waiting
    return format_html(
        "{} at once{}.",
        counted(limit.waiting, "waiting run starts,waiting runs start"),
        format_html("; {} free", counted(rest, "slot stays,slots stay")) if rest else "",
    )


def _lowered(limit: LimitState) -> SafeString:
    return format_html("{} in use, so nothing waits longer now.", grouped(limit.held))


def _below(limit: LimitState, new: int, expiry: datetime | None) -> SafeString:
    by = latest(expiry, limit.now)
    return format_html(
        "Nothing is taken back. {} must finish before the next run starts{}.",
        counted(must_end(limit, new), f"{_held(limit)} slot,{_held(limit)} slots"),
        format_html("; by {} at the latest", instant(by, limit.now)) if by else "",
    )


def _held(limit: LimitState) -> str:
    return "held" if limit.reserved else "busy"


def _jump(old: int, new: int) -> SafeString:
    times, more = divmod(new, old)
    return format_html(
        "{} is {}{} times the present capacity. Check the provider allows it.",
        change(grouped(old), grouped(new)),
        "more than " if more else "",
        grouped(times),
    )
