"""The pieces that pages are made of: figures, instants, bars, states. `{% load studio %}`."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django import template
from django.contrib.messages.storage.base import Message
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from limits import durations
from limits import wording as words
from limits.queries import Health, LimitState, Spark, Start
from limits.wording import Given, Sentence, Value
from studio import bars, charts, order, wording

register = template.Library()

HEALTH_ICONS: Final = {
    Health.UNDECLARED: "crossed",
    Health.PAUSED: "pause",
    Health.OVER: "triangle",
    Health.STUCK: "diamond",
    Health.OVERDUE: "clock",
    Health.FULL: "full",
    Health.FILLING: "half",
    Health.OPEN: "ring",
    Health.IDLE: "hollow",
}
STATUS_ICONS: Final = {
    "queued": "hollow",
    "running": "play",
    "completed": "check",
    "failed": "cross",
    "cancelled": "crossed",
}
MARK_ICONS: Final = {
    "edits": "down",
    "pauses": "pause",
    "resumes": "play",
    "by_hand": "cross",
    "expired": "ring",
}
SLOT_ICONS: Final = {"busy": "busy", "reserved": "reserved", "waiting": "hollow", "released": "ring"}
"""Any other state of a slot is an end without a release."""
_UNSEEN: Final = {False: "{}", True: '<span class="unseen">{}</span>'}
ICONS: Final = frozenset(
    {
        *HEALTH_ICONS.values(),
        *STATUS_ICONS.values(),
        *SLOT_ICONS.values(),
        *MARK_ICONS.values(),
        *("warn", "arrow", "sort-up", "sort-down"),
    }
)


@register.filter
def grouped(number: int) -> str:
    """Write 100000 as "100,000"."""
    return words.grouped(number)


@register.filter
def counted(number: int, nouns: str) -> str:
    """Write a number with its noun: `{{ 7|counted:"run,runs" }}`."""
    one, many = nouns.split(",")
    return words.counted(number, one, many)


@register.filter
def setting(milliseconds: int) -> str:
    """Write a setting in the grammar the forms accept: "1h30m"."""
    return durations.format_setting(milliseconds)


@register.filter
def duration(milliseconds: int | None) -> str:
    """Write a figure, "12m 04s"; "–" for none."""
    return wording.NOTHING if milliseconds is None else durations.format_elapsed(milliseconds)


@register.filter
def duration_short(milliseconds: int | None) -> str:
    """Write a figure in its largest unit, "12m"; "–" for none."""
    return wording.NOTHING if milliseconds is None else wording.duration_short(milliseconds)


@register.filter
def setting_words(milliseconds: int) -> str:
    """Write a setting out, whole: "1 hour 30 minutes"."""
    return durations.format_words(milliseconds)


@register.filter
def until(start: datetime | None, end: datetime | None) -> int | None:
    """Return the milliseconds from `start` to `end`, 0 if `end` is earlier, none if either is none."""
    if start is None or end is None:
        return None
    return wording.milliseconds(start, end)


@register.filter
def elapsed_to(start: datetime | None, end: datetime | None) -> str:
    """Write the time from `start` to `end` as a figure."""
    return duration(until(start, end))


@register.simple_tag
def since(start: datetime | None, now: datetime, *, short: bool = False) -> str:
    """Write the time from `start` to now as a figure that ticks on in the browser; "–" for none."""
    if start is None:
        return wording.NOTHING
    said = (duration_short if short else duration)(wording.milliseconds(start, now))
    short_mark = " data-short" if short else ""
    # By plain means, as with `instant`: figures and machine-readable instants need no escaping.
    return SafeString(f'<span class="tick"{short_mark} data-since="{wording.clock_machine(start)}">{said}</span>')


@register.simple_tag
def left(end: datetime, now: datetime) -> str:
    """Write the time from now to `end` as a figure that ticks on in the browser."""
    said = duration(wording.milliseconds(now, end))
    return SafeString(f'<span class="tick" data-until="{wording.clock_machine(end)}">{said}</span>')


@register.filter
def machine(at: datetime) -> str:
    """Write an instant for scripts: "2026-12-02T14:32:08.250Z"."""
    return wording.clock_machine(at)


@register.simple_tag
def static_icons() -> str:
    """Name the page's three icons for scripts, which change them with what they stand for."""
    return " ".join(f"{name}={static(f'icons/{name}.svg')}" for name in ("calm", "waiting", "over"))


@register.simple_tag
def instant(at: datetime | None, now: datetime | None = None) -> str:
    """Write a `<time>` in UTC with the full instant as its tooltip; the day only if it is not `now`'s."""
    if at is None:
        return wording.NOTHING
    # A page of the queue has a hundred; figures and names of months need no escaping.
    return SafeString(
        f'<time datetime="{wording.clock_machine(at)}" title="{wording.clock_full(at)}">{words.clock(at, now=now)}</time>'
    )


@register.simple_tag
def minute(at: datetime, now: datetime) -> str:
    """Write an instant in UTC to the minute; the day only if it is not `now`'s."""
    return wording.minute(at, now)


@register.filter
def tick(at: datetime) -> str:
    """Write an instant under an axis."""
    return wording.tick(at)


@register.filter
def instant_full(at: datetime) -> str:
    """Write an instant in UTC with its day and year, for what outlives the day: "2 Dec 2026, 14:32:08 UTC"."""
    return wording.clock_full(at)


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw one of the shapes of `components/symbols.html`; the word beside it carries the meaning."""
    if name not in ICONS:
        raise template.TemplateSyntaxError(f"icon: no shape is called {name!r}")
    return format_html(
        '<svg class="icon icon-{0}" width="10" height="10" aria-hidden="true" focusable="false">'
        '<use href="#shape-{0}"/></svg>',
        name,
    )


def told(sentences: Iterable[Sentence], now: datetime) -> SafeString:
    """Write sentences one after the other, in the reader's language."""
    return mark_safe(" ".join(_told(each, now) for each in sentences))


def _told(sentence: Sentence, now: datetime) -> str:
    text = gettext(sentence.one) if sentence.many is None else ngettext(sentence.one, sentence.many, sentence.number)
    return escape(text) % {name: _value(value, now) for name, value in sentence.values.items()}


def _value(value: Value, now: datetime) -> str:
    match value:
        case datetime():
            return instant(value, now)
        case int():
            return conditional_escape(grouped(value))
        case Given():
            return format_html("<bdi>{}</bdi>", _visible(value))
        case _:
            return conditional_escape(value)


@register.simple_tag
def health(limit: LimitState) -> SafeString:
    """Write a limit's state as shape and word: "Full", "Over by 2", "Paused, 4 finishing"."""
    state = limit.health
    return format_html(
        '<span class="health health-{}">{}{}</span>',
        state.name.lower(),
        icon(HEALTH_ICONS[state]),
        told([words.health(limit)], limit.now),
    )


@register.simple_tag
def health_words(limit: LimitState) -> str:
    """Write a limit's state in words alone."""
    return told([words.health(limit)], limit.now)


@register.simple_tag
def start(found: Start, now: datetime) -> SafeString:
    """Say by when a waiting run starts at the latest, or why nobody can tell."""
    return told(words.start(found), now)


@register.simple_tag
def start_figure(found: Start, now: datetime) -> str:
    """Write by when a waiting run starts at the latest; "–" where nobody can tell, with the reason as its tooltip."""
    if found.by is None:
        return format_html('<span title="{}">{}</span>', start(found, now), wording.NOTHING)
    if found.too_late:
        return format_html("{} {}", icon("warn"), gettext("may time out first"))
    return instant(found.by, now)


@register.simple_tag
def run_status(status: str) -> SafeString:
    """Write the status of a run or a step as shape and word: "Running"."""
    return format_html('<span class="health run-{}">{}{}</span>', status, icon(STATUS_ICONS[status]), status.title())


@register.simple_tag
def slot_state(state: str) -> SafeString:
    """Write the state of a slot as shape and word: "Timed out"."""
    return format_html("{}{}", icon(SLOT_ICONS.get(state, "crossed")), state.replace("_", " ").capitalize())


@register.filter
def mark_icon(kind: str) -> str:
    """Return the shape of a mark in a limit's history."""
    return MARK_ICONS[kind]


@register.simple_tag
def run_link(run_id: str) -> SafeString:
    """Write a run's id as the link to its page."""
    return format_html('<a class="run-link" href="{}">{}</a>', reverse("run", args=[run_id]), ident(run_id))


@register.simple_tag
def sort_keys(limit: LimitState) -> SafeString:
    """Write what the list sorts a limit by, as attributes for scripts."""
    return format_html_join("", ' data-by-{}="{}"', order.keys(limit).items())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undo:
    """Where a form goes that takes a change back, and what it sends."""

    action: str
    token: str


@register.filter
def undo(message: Message) -> _Undo | None:
    """Return the way back that a message carries (`studio.undoing.offer`), or none."""
    action, _, token = (message.extra_tags or "").partition(" ")
    return _Undo(action=action, token=token) if token else None


@register.inclusion_tag("components/limit_tags.html")
def limit_tags(limit: LimitState) -> dict[str, Any]:
    """Write the tags that follow a limit's name: Override, No longer declared."""
    return {"limit": limit}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A rectangle as SVG draws it: where a line runs along its edge, the line lies inside."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@register.inclusion_tag("components/bar.html")
def bar(limit: LimitState, size: str = "list") -> dict[str, Any]:
    """Draw a limit's occupancy, with its sentence for who does not see it; size "list" or "detail"."""
    drawn = bars.bar(limit.capacity.effective, busy=limit.busy, reserved=limit.reserved, paused=limit.paused, size=size)
    body = {"y": drawn.top, "height": drawn.body}
    start = drawn.parts[0].x
    return {
        "bar": drawn,
        "size": size,
        "ground": None if drawn.segmented else _lined("ground", x=start, width=drawn.extent, **body),
        "cells": [
            (_lined if part.kind in (bars.FREE, bars.RESERVED) else _Box)(
                kind=part.kind, x=part.x, width=part.width, **body
            )
            for part in drawn.parts
            if drawn.segmented or part.kind != bars.FREE
        ],
        "outline": _lined("paused", x=0, y=0, width=drawn.extent + 2 * start, height=drawn.height)
        if drawn.paused
        else None,
        "sentence": _occupancy(limit),
    }


def _lined(kind: str, *, x: int, y: int, width: int, height: int) -> _Box:
    return _Box(kind=kind, x=x + 0.5, y=y + 0.5, width=width - 1, height=height - 1)


def _occupancy(limit: LimitState) -> str:
    reserved = f" and {words.grouped(limit.reserved)} reserved" if limit.reserved else ""
    over = f", {words.grouped(limit.over)} over" if limit.over else ""
    return f"{words.grouped(limit.busy)} busy{reserved} of {words.grouped(limit.capacity.effective)}{over}"


@register.inclusion_tag("components/sparkline.html")
def sparkline(sparks: Mapping[str, Sequence[Spark | None]], name: str) -> dict[str, Any]:
    """Draw what was held in the last hour, if anything is known; with the highest for who does not see it."""
    return {"spark": charts.sparkline(sparks.get(name, []))}


@register.inclusion_tag("components/meter.html")
def meter(passed: int | str, tone: str = "calm") -> dict[str, Any]:
    """Draw a meter of which `passed` pixels are filled (`bars.meter`); tone "calm", "near" or "over"."""
    width, height = bars.METER_SIZE
    return {"width": width, "height": height, "passed": passed, "tone": tone}


@register.simple_tag
def change(before: object, after: object) -> SafeString:
    """Write "20 → 30"; the font has no arrow, so it is drawn, and said as "to"."""
    return format_html(
        '<span class="change">{} {}<span class="visually-hidden">to</span> {}</span>', before, icon("arrow"), after
    )


@register.simple_tag
def label(text: str | None) -> str:
    """Write a label so that nothing in it hides or rearranges the line; "–" for none."""
    return _isolated(text, "label")


@register.simple_tag
def ident(text: str | None) -> str:
    """Write the id of a run or a slot, as safely as a label; "–" for none."""
    return _isolated(text, "ident")


@register.filter
def visible(text: str) -> SafeString:
    """Write a text of many lines so that nothing in it hides or rearranges a line."""
    return mark_safe("\n".join(_visible(line) for line in text.split("\n")))


def _isolated(text: str | None, kind: str) -> str:
    # Two hundred of them are on a page: nothing is formatted that is safe as it stands.
    return SafeString(f'<bdi class="mono {kind}">{_visible(text)}</bdi>') if text else wording.NOTHING


def _visible(text: str) -> SafeString:
    # By plain means, for the same reason.
    return SafeString("".join(_UNSEEN[unseen].format(html.escape(part)) for part, unseen in wording.unseen(text)))


@register.inclusion_tag("components/provenance.html")
def provenance(limit: LimitState, field: str) -> dict[str, Any]:
    """Write where a value comes from; field "capacity" or "max_hold"."""
    return {"field": field, "setting": getattr(limit, field), "now": limit.now}
