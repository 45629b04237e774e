"""What came of an operator's change, in a sentence for the next page. Pure."""

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from limits.engine import Edited
from limits.queries import LimitState, Setting
from studio.forms import EditForm
from studio.templatetags.studio import grouped, instant, written


def started(granted: int) -> SafeString:
    """Say how many waiting runs were granted a slot."""
    return format_html(ngettext("{n} run started.", "{n} runs started.", granted), n=grouped(granted))


def edited(form: EditForm) -> SafeString:
    """Say what an edit stored, and what was stored before it."""
    said = [_edited(field, form.cleaned_data[field], again=field in form.stored) for field in form.touched]
    return format_html_join(" ", "{}", ((each,) for each in said)) or SafeString(gettext("No changes."))


def reset(limit: LimitState, field: str, done: Edited) -> SafeString:
    """Say what a reset did; `limit` as it was before."""
    match field, done.changed:
        case "capacity", True:
            said = gettext("Capacity follows the config again: {value}.")
        case "capacity", False:
            said = gettext("Capacity has no override; it follows the config: {value}.")
        case _, True:
            said = gettext("Max hold follows the config again: {value}.")
        case _:
            said = gettext("Max hold has no override; it follows the config: {value}.")
    return format_html(said, value=written(field, getattr(limit, field).declared))


def paused(limit: LimitState, done: Edited) -> SafeString:
    """Say what a pause did; `limit` as it was before."""
    if not done.changed:
        return format_html(gettext("Nothing changed. {limit} was paused already."), limit=limit.name)
    return format_html(gettext("{limit} is paused. No slot is handed out until it is resumed."), limit=limit.name)


def resumed(limit: LimitState, done: Edited) -> SafeString:
    """Say what a resume did; `limit` as it was before."""
    if not done.changed:
        return format_html(gettext("Nothing changed. {limit} was not paused."), limit=limit.name)
    return format_html(gettext("{limit} hands out slots again."), limit=limit.name)


def stale(form: EditForm) -> dict[str, SafeString]:
    """Say for each touched field that somebody else changed: who, to what, and what became of the entry."""
    return {field: _stale(form, field, getattr(form.limit, field)) for field in form.stale}


def _edited(field: str, value: int, *, again: bool) -> SafeString:
    match field, again:
        case "capacity", True:
            said = gettext("Capacity is {value} already.")
        case "capacity", False:
            said = gettext("Capacity is now {value}.")
        case _, True:
            said = gettext("Max hold is {value} already.")
        case _:
            said = gettext("Max hold is now {value} for new slots.")
    return format_html(said, value=written(field, value))


def _stale(form: EditForm, field: str, now: Setting) -> SafeString:
    match field, now.override:
        case "capacity", None:
            does = gettext("The capacity is {value} now, as declared.")
        case "capacity", _:
            does = gettext("{who} set capacity to {value} at {at}.")
        case _, None:
            does = gettext("The max hold is {value} now, as declared.")
        case _:
            does = gettext("{who} set max hold to {value} at {at}.")
    return format_html(
        gettext(
            "This limit changed while you were editing. {change} Your {value} is still in the form; check and save again."
        ),
        change=format_html(
            does,
            who=now.override_by,
            value=written(field, now.effective),
            at=instant(now.override_at, form.limit.now),
        ),
        value=written(field, form.cleaned_data[field]),
    )
