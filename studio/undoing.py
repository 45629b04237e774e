"""The way back from a change that was just saved: a signed offer, good for a minute."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core import signing
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from limits import engine
from limits.engine import Actor, Edited
from limits.errors import ChangedMeanwhileError
from limits.queries import LimitState, Setting
from studio import outcomes
from studio.templatetags.studio import written

SECONDS: Final = 60
_SALT: Final = "studio.undo"


class TooLateError(Exception):
    """The offer is over, or is none of ours for this limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One field to bring back: the override it had, none for none, and the value it must still have."""

    field: str
    was: int | None
    now: int


def offer(before: LimitState, stored: Mapping[str, int]) -> str:
    """Return the offer to take back what was just `stored`, as a message carries it: where to send what."""
    steps = [[field, getattr(before, field).override, value] for field, value in stored.items()]
    token = signing.dumps([before.name, steps], salt=_SALT, compress=True)
    return f"{reverse('limit-undo', args=[before.name])} {token}"


def accepted(limit: str, token: str) -> list[Step]:
    """Return the steps of an offer for that limit; raises `TooLateError`."""
    try:
        name, steps = signing.loads(token, salt=_SALT, max_age=SECONDS)
    except signing.BadSignature as error:
        raise TooLateError from error
    if name != limit:
        raise TooLateError
    return [Step(field=field, was=was, now=now) for field, was, now in steps]


def undo(limit: LimitState, step: Step, *, actor: Actor) -> Edited:
    """Bring one field back, recorded like any change; raises `ChangedMeanwhileError` where it changed since."""
    if step.was is None:
        return engine.reset(limit.name, step.field, actor=actor, expected=step.now, reason="undo")
    change: dict[str, Any] = {step.field: step.was, f"expected_{step.field}": step.now}
    return engine.edit(limit.name, actor=actor, reason="undo", **change)


def undo_all(limit: LimitState, steps: list[Step], *, actor: Actor) -> tuple[bool, SafeString]:
    """Bring each field back that nobody changed since; tell whether all are, and what became of them."""
    said, done, granted = [], True, 0
    for step in steps:
        try:
            # Sent twice, as by a double click: the field is back already.
            again = getattr(limit, step.field).override == step.was
            granted += 0 if again else undo(limit, step, actor=actor).granted
            said.append(_back(getattr(limit, step.field), step))
        except ChangedMeanwhileError as error:
            done = False
            said.append(_refused(step, error.current))
    said += [outcomes.started(granted)] if granted else []
    return done, mark_safe(" ".join(said))


def _back(now: Setting, step: Step) -> SafeString:
    match step.field, step.was:
        case "capacity", None:
            said = gettext("Capacity is {value} again, as declared.")
        case "capacity", _:
            said = gettext("Capacity is {value} again.")
        case _, None:
            said = gettext("Max hold is {value} again, as declared.")
        case _:
            said = gettext("Max hold is {value} again.")
    value = now.declared if step.was is None else step.was
    return format_html(said, value=written(step.field, value))


def _refused(step: Step, current: int) -> SafeString:
    said = (
        gettext("Not undone: the capacity changed since, it is {value} now.")
        if step.field == "capacity"
        else gettext("Not undone: the max hold changed since, it is {value} now.")
    )
    return format_html(said, value=written(step.field, current))
