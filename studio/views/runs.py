"""Runs: the list, one run, and how an operator cancels one."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from limits import queries
from limits.errors import InvalidValueError
from stackbone import runs
from stackbone.runs import Run, UnknownRunError
from studio import running
from studio.security import actor
from studio.templatetags.studio import ident, instant
from studio.views import asked, see_other
from studio.wording import shortened


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the runs, newest first, as filtered by the address."""
    return render(request, "runs/index.html", index_context(request))


@require_safe
def detail(request: HttpRequest, run_id: str) -> HttpResponse:
    """Show one run: what it does, waits for and holds, what went in and what came out."""
    return render(request, "runs/detail.html", detail_context(run_id))


def index_context(request: HttpRequest) -> dict[str, Any]:
    """Return what the list of runs is drawn from; raises `BadRequest` for an address that makes no sense."""
    status, workflow, waiting = (asked(request, key) for key in ("status", "workflow", "waiting"))
    after = request.GET.get("after") or None
    if waiting not in ("", "1"):
        raise BadRequest("waiting is 1 or not there")
    try:
        page = runs.runs(status=status or None, workflow=workflow or None, waiting=bool(waiting), after=after)
    except InvalidValueError as error:
        raise BadRequest(str(error)) from error
    limits = queries.limits()
    now = limits[0].now if limits else timezone.now()
    return {
        "page": page,
        "rows": [running.RunLine(row=row, now=now) for row in page.items],
        "none": running.none(status, workflow, waiting=bool(waiting)),
        "filters": running.filters(status, waiting=bool(waiting)),
        "workflows": runs.workflows(),
        "workflow": workflow,
        "stranded": sorted({row.workflow for row in page.items if row.stranded}),
        "filtered": bool(status or workflow or waiting),
        "later": after is not None,
        "now": now,
    }


def detail_context(run_id: str) -> dict[str, Any]:
    """Return what a run's page is drawn from; raises `Http404` for a run that nobody knows."""
    run = _known(run_id)
    slots = running.slots(run)
    return {
        "run": run,
        "line": running.RunLine(row=run.row, now=run.now),
        "steps": running.steps(run),
        "slots": slots,
        "limits": sorted({line.slot.limit for line in slots if line.slot.ended_at is None}),
        "here": reverse("run", args=[run_id]),
        "input": running.pretty(run.input),
        "output": running.pretty(run.output),
        "now": run.now,
    }


@require_http_methods(["GET", "HEAD", "POST"])
def cancel(request: HttpRequest, run_id: str) -> HttpResponse:
    """Cancel a run, after a question; one that had ended already stays as it is."""
    if request.method == "POST":
        try:
            done = runs.cancel(run_id, actor=actor(request))
        except UnknownRunError as error:
            raise _unknown() from error
        run = _known(run_id)
        messages.add_message(request, messages.SUCCESS if done else messages.INFO, _outcome(run, done=done))
        return see_other("run", run_id)
    run = _known(run_id)
    slots = running.slots(run)
    context = {
        "run": run,
        "line": running.RunLine(row=run.row, now=run.now),
        "queues": [line.slot for line in slots if line.slot.state in ("waiting", "reserved")],
        "held": [line for line in slots if line.slot.state == "busy"],
        "now": run.now,
    }
    return render(request, "runs/cancel.html", context)


def _known(run_id: str) -> Run:
    run = runs.run(run_id)
    if run is None:
        raise _unknown()
    return run


def _unknown() -> Http404:
    return Http404(gettext("There is no run with this id. Runs that ended long ago are forgotten."))


def _outcome(run: Run, *, done: bool) -> SafeString:
    # A message travels in a cookie: one that is too long for it is lost without a word.
    named = ident(shortened(run.row.id))
    if done:
        return format_html(gettext("Cancelled {run}."), run=named)
    said = {
        "completed": gettext("Nothing changed. That run had ended already (completed {at})."),
        "failed": gettext("Nothing changed. That run had ended already (failed {at})."),
        "cancelled": gettext("Nothing changed. That run had ended already (cancelled {at})."),
    }
    return format_html(said[run.row.status], at=instant(run.row.ended_at, run.now))
