"""What an edit will do, said before it is done. Pure, over a limit's state and the expiries of its busy slots."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from limits.queries import LimitState, latest
from studio.templatetags.studio import change, grouped, instant, setting

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
    text = _joined(
        format_html(gettext("{change} for new slots."), change=change(setting(old), setting(new))),
        _kept(limit, last_expiry) if limit.busy else SafeString(gettext("No slot is busy now.")),
    )
    return [Preview(field="max_hold", text=text)]


def same_as_declared(limit: LimitState, field: str, new: int) -> list[Preview]:
    """Say that storing a value that changes to the declared one is not a reset (O5)."""
    setting_now = getattr(limit, field)
    if new != setting_now.declared or new == setting_now.effective:
        return []
    text = SafeString(
        gettext("Same as the declared value. This still stores an override. Use Reset to follow the config.")
    )
    return [Preview(field=field, text=text)]


def resumed(limit: LimitState) -> SafeString:
    """Say what resuming a paused limit does at once."""
    if not limit.waiting:
        return SafeString(gettext("No run is waiting. New requests get a slot again."))
    if not limit.free:
        said = ngettext(
            "No slot is free: {n} waiting run starts when slots free.",
            "No slot is free: {n} waiting runs start when slots free.",
            limit.waiting,
        )
        return format_html(said, n=grouped(limit.waiting))
    return _starts(limit, limit.free)


def _said(old: int, new: int, does: SafeString) -> SafeString:
    return format_html("{}. {}", change(grouped(old), grouped(new)), does)


def _raised(limit: LimitState, new: int) -> SafeString:
    free = new - limit.held
    if not free:
        said = ngettext("{n} in use, so no run starts yet.", "{n} in use, so no run starts yet.", limit.held)
        return format_html(said, n=grouped(limit.held))
    if limit.paused:
        return SafeString(gettext("The limit is paused: no run starts until it is resumed."))
    if not limit.waiting:
        said = ngettext("No run is waiting. {n} slot is free.", "No run is waiting. {n} slots are free.", free)
        return format_html(said, n=grouped(free))
    return _starts(limit, free)


def _starts(limit: LimitState, free: int) -> SafeString:
    if limit.waiting > free:
        said = ngettext(
            "Starts {n} of {waiting} waiting runs at once.", "Starts {n} of {waiting} waiting runs at once.", free
        )
        return format_html(said, n=grouped(free), waiting=grouped(limit.waiting))
    rest = free - limit.waiting
    starts = ngettext("{n} waiting run starts at once.", "{n} waiting runs start at once.", limit.waiting)
    stays = ngettext("{n} slot stays free.", "{n} slots stay free.", rest)
    return _joined(
        format_html(starts, n=grouped(limit.waiting)),
        format_html(stays, n=grouped(rest)) if rest else "",
    )


def _lowered(limit: LimitState) -> SafeString:
    said = ngettext("{n} in use, so nothing waits longer now.", "{n} in use, so nothing waits longer now.", limit.held)
    return format_html(said, n=grouped(limit.held))


def _below(limit: LimitState, new: int, expiry: datetime | None) -> SafeString:
    by, ends = latest(expiry, limit.now), must_end(limit, new)
    said = (
        ngettext(
            "{n} held slot must finish before the next run starts.",
            "{n} held slots must finish before the next run starts.",
            ends,
        )
        if limit.reserved
        else ngettext(
            "{n} busy slot must finish before the next run starts.",
            "{n} busy slots must finish before the next run starts.",
            ends,
        )
    )
    return _joined(
        SafeString(gettext("Nothing is taken back.")),
        format_html(said, n=grouped(ends)),
        format_html(gettext("That is by {at} at the latest."), at=instant(by, limit.now)) if by else "",
    )


def _kept(limit: LimitState, last_expiry: datetime | None) -> SafeString:
    said = (
        ngettext(
            "{n} busy slot keeps its expiry ({at}).", "{n} busy slots keep their expiry (latest {at}).", limit.busy
        )
        if last_expiry
        else ngettext("{n} busy slot keeps its expiry.", "{n} busy slots keep their expiry.", limit.busy)
    )
    return format_html(said, n=grouped(limit.busy), at=instant(last_expiry, limit.now))


def _jump(old: int, new: int) -> SafeString:
    times, more = divmod(new, old)
    said = (
        gettext("{change} is more than {n} times the present capacity. Check the provider allows it.")
        if more
        else gettext("{change} is {n} times the present capacity. Check the provider allows it.")
    )
    return format_html(said, change=change(grouped(old), grouped(new)), n=grouped(times))


def _joined(*sentences: str) -> SafeString:
    return format_html_join(" ", "{}", ((each,) for each in sentences if each))
