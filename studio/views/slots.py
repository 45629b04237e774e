"""One slot: its release by hand."""

import re
import uuid
from dataclasses import replace
from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods

from limits import engine, queries
from limits.errors import BoxUnreachableError
from limits.queries import LimitState, SlotRow
from studio import sentences
from studio.forms import ReasonForm
from studio.security import actor
from studio.templatetags.studio import instant
from studio.views import known
from studio.wording import shortened

_KEY: Final = re.compile(r"[0-9a-f]{32}")


@require_http_methods(["GET", "HEAD", "POST"])
def release(request: HttpRequest, name: str, slot_id: str) -> HttpResponse:
    """Release a busy slot by its own id, never by a row's place; a repeated POST gets the first one's answer."""
    form = ReasonForm(request.POST if request.method == "POST" else None)
    try:
        limit, slot = _limit_and_slot(name, slot_id)
        if request.method != "POST" or not form.is_valid():
            return _confirmation(request, limit, slot, form)
        head = queries.head(name)
        done = engine.release(slot.id, actor=actor(request), reason=form.cleaned_data["reason"], key=_key(request))
        if done.released:
            messages.success(request, _released(slot, head, granted=done.granted))
        else:
            messages.info(request, _nothing_changed(slot.id, limit))
    except BoxUnreachableError:
        if request.method != "POST":
            raise
        return _not_released(request, name, slot_id, form)
    return HttpResponseRedirect(_back(request, name), status=303)


def _limit_and_slot(name: str, slot_id: str) -> tuple[LimitState, SlotRow]:
    limit, slot = known(name), queries.slot(slot_id)
    if slot is None or slot.limit != name:
        raise Http404(
            gettext("{limit} has no slot with this id. Slots that ended long ago are forgotten.").format(limit=name)
        )
    return limit, slot


def _back(request: HttpRequest, name: str) -> str:
    # The limit's page as it was searched, ordered and turned to, or a run's; nothing else may be asked for.
    page, asked = reverse("limit", args=[name]), request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(asked, allowed_hosts=None)
    safe = safe and asked.startswith((f"{page}?", reverse("runs")))
    return asked if safe else page


def _confirmation(request: HttpRequest, limit: LimitState, slot: SlotRow, form: ReasonForm) -> HttpResponse:
    context = {
        "limit": limit,
        "slot": slot,
        "form": form,
        "next_in_line": sentences.after_release(limit, queries.head(limit.name)),
        "how_it_ended": sentences.how_it_ended(slot, limit.now) if slot.ended_at else "",
        "key": request.POST.get("key") or uuid.uuid4().hex,
        "back": _back(request, limit.name),
        "now": limit.now,
    }
    return render(request, "limits/release.html", context, status=422 if form.errors else 200)


def _key(request: HttpRequest) -> str | None:
    # Made by the page that asked; anything else is not worth an error, the call just has no name then.
    key = request.POST.get("key", "")
    return key if _KEY.fullmatch(key) else None


def _released(slot: SlotRow, head: SlotRow | None, *, granted: int) -> SafeString:
    what = sentences.what(_shortly_named(slot))
    if not granted or head is None:
        return format_html(gettext("Released {what}."), what=what)
    now_head = queries.slot(head.id)
    if now_head is not None and now_head.state in ("reserved", "busy"):
        who = sentences.who(_shortly_named(head))
        return format_html(gettext("Released {what}. {who} gets the slot."), what=what, who=who)
    return format_html(gettext("Released {what}. The next run gets the slot."), what=what)


def _shortly_named(slot: SlotRow) -> SlotRow:
    # A message travels in a cookie: one that is too long for it is lost without a word.
    return replace(slot, label=shortened(slot.label or ""), run_id=shortened(slot.run_id or ""))


def _nothing_changed(slot_id: str, limit: LimitState) -> SafeString:
    slot = queries.slot(slot_id)
    if slot is None or slot.state in ("reserved", "waiting"):
        return SafeString(gettext("Nothing changed. Only a busy slot can be released."))
    if slot.state == "released":
        at = instant(slot.ended_at, limit.now)
        return format_html(gettext("Nothing changed. That slot was already free (released {at})."), at=at)
    ended = sentences.how_it_ended(slot, limit.now)
    return format_html(gettext("Nothing changed. That slot was already free. {ended}"), ended=ended)


def _not_released(request: HttpRequest, name: str, slot_id: str, form: ReasonForm) -> HttpResponse:
    context = {
        "name": name,
        "slot_id": slot_id,
        "form": form,
        "key": _key(request) or uuid.uuid4().hex,
        "back": _back(request, name),
    }
    return render(request, "limits/not_released.html", context, status=503)
