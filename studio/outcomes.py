"""What came of an operator's change, in a sentence for the next page. Pure."""

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from limits.engine import Edited
from limits.queries import LimitState, Setting
from studio.forms import EditForm
from studio.templatetags.studio import counted, grouped, instant, setting

WORDS = {"capacity": "Capacity", "max_hold": "Max hold"}


def written(field: str, value: int) -> str:
    """Write a value of a field as people type it, capacities with grouping."""
    return grouped(value) if field == "capacity" else setting(value)


def started(granted: int) -> SafeString:
    """Say how many waiting runs were granted a slot."""
    return format_html("{} started.", counted(granted, "run,runs"))


def edited(form: EditForm) -> SafeString:
    """Say what an edit stored, and what was stored before it."""
    said = [_edited(field, form.cleaned_data[field], again=field in form.stored) for field in form.touched]
    return mark_safe(" ".join(said)) if said else SafeString("No changes.")


def reset(limit: LimitState, field: str, done: Edited) -> SafeString:
    """Say what a reset did; `limit` as it was before."""
    follows = "follows the config again" if done.changed else "has no override; it follows the config"
    return format_html("{} {}: {}.", WORDS[field], follows, written(field, getattr(limit, field).declared))


def paused(limit: LimitState, done: Edited) -> SafeString:
    """Say what a pause did; `limit` as it was before."""
    if not done.changed:
        return format_html("Nothing changed. {} was paused already.", limit.name)
    return format_html("{} is paused. No slot is handed out until it is resumed.", limit.name)


def resumed(limit: LimitState, done: Edited) -> SafeString:
    """Say what a resume did; `limit` as it was before."""
    if not done.changed:
        return format_html("Nothing changed. {} was not paused.", limit.name)
    return format_html("{} hands out slots again.", limit.name)


def stale(form: EditForm) -> dict[str, SafeString]:
    """Say for each touched field that somebody else changed: who, to what, and what became of the entry."""
    return {field: _stale(form, field, getattr(form.limit, field)) for field in form.stale}


def _edited(field: str, value: int, *, again: bool) -> SafeString:
    if again:
        return format_html("{} is {} already.", WORDS[field], written(field, value))
    text = "{} is now {}." if field == "capacity" else "{} is now {} for new slots."
    return format_html(text, WORDS[field], written(field, value))


def _stale(form: EditForm, field: str, now: Setting) -> SafeString:
    word, value = WORDS[field].lower(), written(field, now.effective)
    at = instant(now.override_at, form.limit.now)
    if now.override is None:
        does = format_html("The {} is {} now, as declared.", word, value)
    else:
        does = format_html("{} set {} to {} at {}.", now.override_by, word, value, at)
    return format_html(
        "This limit changed while you were editing. {} Your {} is still in the form; check and save again.",
        does,
        written(field, form.cleaned_data[field]),
    )
