"""The pieces that pages are made of: figures, instants, bars, states. `{% load studio %}`."""

import html
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import Any, Final

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import conditional_escape, escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext, pgettext, pgettext_lazy

from limits import durations
from limits import wording as words
from limits.queries import Health, LimitState, Setting, SlotRow, Start
from limits.wording import Given, Sentence, Value
from studio import order, wording

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
RUN_WORDS: Final = {
    "queued": pgettext_lazy("run", "Queued"),
    "running": pgettext_lazy("run", "Running"),
    "completed": pgettext_lazy("run", "Completed"),
    "failed": pgettext_lazy("run", "Failed"),
    "cancelled": pgettext_lazy("run", "Cancelled"),
}
STEP_WORDS: Final = {
    "running": pgettext_lazy("step", "Running"),
    "completed": pgettext_lazy("step", "Completed"),
    "failed": pgettext_lazy("step", "Failed"),
}
SLOT_WORDS: Final = {
    "waiting": pgettext_lazy("slot", "Waiting"),
    "reserved": pgettext_lazy("slot", "Reserved"),
    "busy": pgettext_lazy("slot", "Busy"),
    "released": pgettext_lazy("slot", "Released"),
    "expired": pgettext_lazy("slot", "Expired"),
    "timed_out": pgettext_lazy("slot", "Timed out"),
    "withdrawn": pgettext_lazy("slot", "Withdrawn"),
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
    return wording.grouped(number)


@register.filter
def setting(milliseconds: int) -> str:
    """Write a setting in the grammar the forms accept: "1h30m"."""
    return durations.format_setting(milliseconds)


def written(field: str, value: int) -> str:
    """Write a value of a field as people type it, capacities with grouping."""
    return grouped(value) if field == "capacity" else setting(value)


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
    return wording.words(milliseconds)


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
        f'<time datetime="{wording.clock_machine(at)}" title="{wording.clock_full(at)}">{wording.clock(at, now=now)}</time>'
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
    """Write the status of a run as shape and word: "Running"."""
    return _status(status, str(RUN_WORDS[status]))


@register.simple_tag
def step_status(status: str) -> SafeString:
    """Write the status of a step as shape and word: "Completed"."""
    return _status(status, str(STEP_WORDS[status]))


@register.simple_tag
def slot_state(state: str) -> SafeString:
    """Write the state of a slot as shape and word: "Timed out"."""
    return format_html("{}{}", icon(SLOT_ICONS.get(state, "crossed")), SLOT_WORDS[state])


@register.filter
def mark_icon(kind: str) -> str:
    """Return the shape of a mark in a limit's history."""
    return MARK_ICONS[kind]


@register.simple_tag
def run_link(run_id: str) -> SafeString:
    """Write a run's id as the link to its page."""
    return format_html('<a class="run-link" href="{}">{}</a>', reverse("run", args=[run_id]), ident(run_id))


@register.simple_tag
def one_of(names: Sequence[str], page: str) -> SafeString:
    """Write names as links to the pages of that URL name, with "or" between them."""
    links = [format_html('<a href="{}">{}</a>', reverse(page, args=[name]), name) for name in names]
    # Translators: one of several names that may have been meant.
    return reduce(lambda one, other: format_html(gettext("{one} or {other}"), one=one, other=other), links)


@register.simple_tag
def listed(names: Sequence[str]) -> SafeString:
    """Write names with commas between them."""
    return format_html_join(", ", "<bdi>{}</bdi>", ((name,) for name in names))


@register.simple_tag
def named(slots: Sequence[SlotRow]) -> SafeString:
    """Write each slot as what a person knows it by, its run, else its label, else its own id, with commas between."""
    return format_html_join(", ", "{}", ((_named(slot),) for slot in slots))


def _named(slot: SlotRow) -> str:
    if slot.run_id:
        return run_link(slot.run_id)
    return label(slot.label) if slot.label else format_html(gettext("slot {id}"), id=ident(slot.id))


def _status(status: str, word: str) -> SafeString:
    return format_html('<span class="health run-{}">{}{}</span>', status, icon(STATUS_ICONS[status]), word)


@register.simple_tag
def sort_keys(limit: LimitState) -> SafeString:
    """Write what the list sorts a limit by, as attributes for scripts."""
    return format_html_join("", ' data-by-{}="{}"', order.keys(limit).items())


@register.inclusion_tag("components/limit_tags.html")
def limit_tags(limit: LimitState) -> dict[str, Any]:
    """Write the tags that follow a limit's name: Override, No longer declared."""
    return {"limit": limit}


@register.simple_tag
def change(before: object, after: object) -> SafeString:
    """Write "20 → 30"; the font has no arrow, so it is drawn, and said as "to"."""
    return format_html(
        '<span class="change">{} {}<span class="visually-hidden">{}</span> {}</span>',
        before,
        icon("arrow"),
        # Translators: between a value before a change and the one after it.
        pgettext("20 to 30", "to"),
        after,
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
    if text.isascii() and text.isprintable():
        return SafeString(html.escape(text))
    return SafeString("".join(_UNSEEN[unseen].format(html.escape(part)) for part, unseen in wording.unseen(text)))


@register.simple_tag
def provenance(limit: LimitState, field: str) -> SafeString:
    """Write where a value comes from; field "capacity" or "max_hold"."""
    stands: Setting = getattr(limit, field)
    match field, stands.override:
        case "capacity", None:
            said = gettext("Capacity {value}, declared")
        case "capacity", _:
            said = gettext("Capacity {value}, override by {who}, {at} (declared {declared})")
        case _, None:
            said = gettext("Max hold {value}, declared")
        case _:
            said = gettext("Max hold {value}, override by {who}, {at} (declared {declared})")
    return format_html(
        said,
        value=written(field, stands.effective),
        who=format_html("<bdi>{}</bdi>", stands.override_by or wording.NOTHING),
        at=instant(stands.override_at, limit.now),
        declared=written(field, stands.declared),
    )
