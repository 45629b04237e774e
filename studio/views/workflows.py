"""Workflows: the list of those that workers know, and the form that starts a run of one."""

import re
import uuid
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from limits import queries
from limits.errors import InvalidValueError
from limits.queries import Workflow
from stackbone import runs
from stackbone.runs import UnknownWorkflowError
from studio import inputs
from studio.inputs import InputForm
from studio.views import see_other

_RUN_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the workflows that workers know or knew."""
    return render(request, "workflows/index.html", {"workflows": runs.workflows()})


@require_http_methods(["GET", "HEAD", "POST"])
def trigger(request: HttpRequest, name: str) -> HttpResponse:
    """Start a run with the input that was typed; the form names the run beforehand, so sent twice it starts one."""
    try:
        workflow = _known(name)
        if request.method != "POST":
            return _page(request, workflow, inputs.form(workflow.input_schema), run_id=str(uuid.uuid4()))
        form, run_id = inputs.form(workflow.input_schema, request.POST.dict()), _run_id(request)
        given = form.read()
        if not form.errors and runs.run(run_id) is not None:
            messages.info(request, gettext("That form was sent before. This is the run it started."))
        elif not form.errors:
            runs.trigger(name, given, run_id=run_id)
            messages.success(request, gettext("The run was started."))
    except UnknownWorkflowError as error:
        return render(request, "workflows/not_found.html", {"error": error}, status=404)
    except InvalidValueError as error:
        form.refuse(error.where, error.problem)
    if form.errors:
        return _page(request, workflow, form, run_id=run_id)
    return see_other("run", run_id)


def _known(name: str) -> Workflow:
    known = {workflow.name: workflow for workflow in runs.workflows()}
    if name not in known:
        raise UnknownWorkflowError(name, queries.near(name, list(known)))
    return known[name]


def _run_id(request: HttpRequest) -> str:
    # Made by the page that asked; anything else is not worth an error, the run just gets another.
    run_id = request.POST.get("run_id", "")
    return run_id if _RUN_ID.fullmatch(run_id) else str(uuid.uuid4())


def _page(request: HttpRequest, workflow: Workflow, form: InputForm, *, run_id: str) -> HttpResponse:
    context = {"workflow": workflow, "form": form, "run_id": run_id}
    return render(request, "workflows/trigger.html", context, status=422 if form.errors else 200)
