"""Limits: the list, one limit, and what an operator changes about it."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from limits import engine, queries
from limits.engine import Edited
from limits.errors import ChangedMeanwhileError, InvalidValueError, UnknownLimitError
from limits.queries import LimitState
from studio import history, listing, outcomes, previews, sections, undoing
from studio.feed import mark
from studio.forms import EditForm, ReasonForm, ResetForm
from studio.previews import Preview
from studio.security import actor
from studio.templatetags.studio import written
from studio.views import asked, known, see_other

_reads_and_acts = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show every limit, as found, filtered and sorted by the address."""
    return render(request, "limits/index.html", index_context(request, queries.limits()))


@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponse:
    """Show one limit: who holds its slots, and who waits for one."""
    limit = known(name)
    context = detail_context(request, limit) | {"history": history.section(limit, asked(request, "range"))}
    return render(request, "limits/detail.html", context)


def index_context(request: HttpRequest, everything: list[LimitState]) -> dict[str, Any]:
    """Return what the list is drawn from: the limits as the address finds, filters and sorts them."""
    q, sort = asked(request, "q"), asked(request, "sort")
    found = listing.found(everything, q)
    chosen = listing.filter_of(asked(request, "show"))
    shown = listing.ordered([limit for limit in found if chosen.matches(limit)], sort)
    page = listing.page(shown, request.GET.get("page"))
    return {
        **listing.summed_up(everything),
        "everything": everything,
        "page": page,
        "sparks": queries.sparklines([limit.name for limit in page]),
        "filters": listing.filter_links(found, chosen),
        "chosen": chosen,
        "heads": listing.column_heads(sort),
        "sort": sort,
        "q": q,
        "mark": mark((limit.name, limit.revision) for limit in everything),
        "set": mark((limit.name, 0) for limit in everything),
        "now": everything[0].now if everything else None,
    }


def detail_context(request: HttpRequest, limit: LimitState) -> dict[str, Any]:
    """Return what a limit's page is drawn from: the parts of its lists that the address names."""
    q, order = asked(request, "q"), "expiry" if request.GET.get("order") == "expiry" else "oldest"
    try:
        lists = sections.read(limit, request.GET.dict(), q=q, order=order)
    except InvalidValueError as error:
        raise Http404(gettext("This part of the list is not there.")) from error
    return {
        **sections.head(limit),
        "lists": lists,
        "q": q,
        "order": order,
        "here": reverse("limit", args=[limit.name]),
        "mark": mark([(limit.name, limit.revision)]),
        "now": limit.now,
    }


@_reads_and_acts
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """Override capacity and max hold: previewed on request, asked about where it warns, refused where it is stale."""
    limit = _declared(name)
    if request.method != "POST":
        return _edit_page(request, limit, EditForm(limit=limit))
    form = EditForm(request.POST, limit=limit)
    if not form.is_valid():
        return _edit_page(request, limit, form, status=422)
    if form.stale:
        return _stale_page(request, form)
    said = _preview(limit, capacity=form.cleaned_data["capacity"], max_hold=form.cleaned_data["max_hold"], notes=True)
    if "preview" in request.POST:
        return _edit_page(request, limit, form, said=said)
    if not _answered(request, said, form.cleaned_data["capacity"]):
        return _edit_page(request, limit, form, said=said, status=422)
    try:
        done = engine.edit(name, actor=actor(request), **form.changes()) if form.pending else None
    except ChangedMeanwhileError:
        # Somebody was faster than this look at the limit, so it takes another one.
        return edit(request, name)
    stored = {field: form.cleaned_data[field] for field in form.pending}
    undo = undoing.offer(limit, stored) if done is not None and done.changed else ""
    return _done(request, name, done, outcomes.edited(form), again=bool(form.stored), undo=undo)


@_reads_and_acts
def reset(request: HttpRequest, name: str, field: str) -> HttpResponse:
    """End the override of one field; asked about once where the declared value warns."""
    limit = known(name)
    declared = getattr(limit, field).declared
    said = _preview(limit, **{field: declared})
    form = ResetForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _reset_page(request, limit, field, form, said=said)
    if not form.is_valid() or not _answered(request, said, declared):
        return _reset_page(request, limit, field, form, said=said, status=422)
    try:
        done = engine.reset(name, field, actor=actor(request), **form.cleaned_data)
    except ChangedMeanwhileError as error:
        return _reset_page(request, known(name), field, form, said=said, stale=error, status=409)
    # An override of a limit that is no longer declared can't be set again.
    undo = undoing.offer(limit, {field: declared}) if done.changed and limit.declared else ""
    return _done(request, name, done, outcomes.reset(limit, field, done), undo=undo)


@require_POST
def undo(request: HttpRequest, name: str) -> HttpResponse:
    """Take back a change that was saved less than a minute ago, unless somebody changed the value since."""
    limit = known(name)
    try:
        steps = undoing.accepted(name, request.POST.get("token", ""))
    except undoing.TooLateError:
        said = ngettext(
            "Not undone: that is possible for {n} second after the change only.",
            "Not undone: that is possible for {n} seconds after the change only.",
            undoing.SECONDS,
        )
        messages.error(request, said.format(n=undoing.SECONDS))
        return see_other("limit", name)
    done, text = undoing.undo_all(limit, steps, actor=actor(request))
    messages.add_message(request, messages.SUCCESS if done else messages.ERROR, text)
    return see_other("limit", name)


@_reads_and_acts
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """Stop handing out slots, after a question."""
    limit = _declared(name)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        context = {"limit": limit, "form": form, "now": limit.now}
        return render(request, "limits/pause.html", context, status=422 if form.errors else 200)
    done = engine.pause(name, actor=actor(request), **form.cleaned_data)
    return _done(request, name, done, outcomes.paused(limit, done))


@_reads_and_acts
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """Hand out slots again, after a question."""
    limit = known(name)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        context = {"limit": limit, "form": form, "does": previews.resumed(limit), "now": limit.now}
        return render(request, "limits/resume.html", context, status=422 if form.errors else 200)
    done = engine.resume(name, actor=actor(request), **form.cleaned_data)
    return _done(request, name, done, outcomes.resumed(limit, done))


def _declared(name: str) -> LimitState:
    limit = known(name)
    if not limit.declared:
        raise UnknownLimitError(name, declared=False)
    return limit


def _preview(
    limit: LimitState, *, capacity: int | None = None, max_hold: int | None = None, notes: bool = False
) -> list[Preview]:
    said = []
    if capacity is not None and capacity != limit.capacity.effective:
        said += previews.capacity(limit, capacity, sections.expiry(limit, previews.must_end(limit, capacity)))
        said += previews.same_as_declared(limit, "capacity", capacity) if notes else []
    if max_hold is not None and max_hold != limit.max_hold.effective:
        said += previews.max_hold(limit, max_hold, queries.last_expiry(limit.name) if limit.busy else None)
        said += previews.same_as_declared(limit, "max_hold", max_hold) if notes else []
    return said


def _answered(request: HttpRequest, said: list[Preview], value: int) -> bool:
    # The yes names the value it was given for: a yes to 15 is none to 10.
    return request.POST.get("confirmed") == str(value) or not any(preview.warning for preview in said)


def _edit_page(
    request: HttpRequest, limit: LimitState, form: EditForm, *, said: list[Preview] | None = None, status: int = 200
) -> HttpResponse:
    warned = status == 422 and not form.errors
    context = {"limit": limit, "form": form, "said": said, "warned": warned, "live": _live(request), "now": limit.now}
    return render(request, "limits/edit.html", context, status=status)


def _live(request: HttpRequest) -> bool:
    # Asked while somebody types, who must keep the focus.
    return "preview" in request.POST and "HX-Request" in request.headers


def _stale_page(request: HttpRequest, form: EditForm) -> HttpResponse:
    newer = form.rebased()
    newer.full_clean()
    for field, text in outcomes.stale(form).items():
        newer.add_error(field, text)
    return _edit_page(request, form.limit, newer, status=409)


def _reset_page(
    request: HttpRequest,
    limit: LimitState,
    field: str,
    form: ResetForm,
    *,
    said: list[Preview],
    stale: ChangedMeanwhileError | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "limit": limit,
        "field": field,
        "setting": getattr(limit, field),
        "target": written(field, getattr(limit, field).declared),
        "present": written(field, getattr(limit, field).effective),
        "form": form,
        "said": said,
        "stale": stale,
        "warned": status == 422 and not form.errors,
        "now": limit.now,
    }
    return render(request, "limits/reset.html", context, status=status)


def _done(
    request: HttpRequest,
    name: str,
    done: Edited | None,
    text: SafeString,
    *,
    again: bool = False,
    undo: str = "",
) -> HttpResponse:
    # The answer to an edit, reset, pause or resume; none where there was nothing to do. Done before is done.
    if done is not None and done.granted:
        text = format_html("{} {}", text, outcomes.started(done.granted))
    changed = done is not None and done.changed
    messages.add_message(request, messages.SUCCESS if changed or again else messages.INFO, text, extra_tags=undo)
    return see_other("limit", name)
