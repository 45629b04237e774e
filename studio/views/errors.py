"""The pages for what goes wrong. Each is whole, in the house style, and needs no database."""

import logging
import secrets

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone

from limits.errors import BoxUnreachableError, NotMigratedError, UnknownLimitError

log = logging.getLogger("studio.errors")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400: the browser sent something no page of Studio sends."""
    return render(request, "errors/400.html", status=400)


def foreign_host(request: HttpRequest) -> HttpResponse:
    """400 for a host name or a peer that is not this machine; no link leads back there."""
    host = request.META.get("HTTP_HOST", "")
    return render(request, "errors/foreign_host.html", {"host": host}, status=400)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """403: the form's token does not belong to this browser."""
    log.info("form refused: %s", reason)
    return render(request, "errors/403_csrf.html", status=403)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: this person may not see this page."""
    return render(request, "errors/403.html", status=403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404; the sentence given to `Http404` is shown, an unknown address has one of its own."""
    said = exception.args[0] if exception.args else None
    sentence = said if isinstance(exception, Http404) and isinstance(said, str) else None
    return render(request, "errors/404.html", {"sentence": sentence}, status=404)


def unknown_limit(request: HttpRequest, error: UnknownLimitError) -> HttpResponse:
    """404 with near names for a limit never heard of, 410 for one no longer declared."""
    return render(
        request,
        "errors/limit_not_found.html",
        {"name": error.name, "near": error.near, "declared": error.declared},
        status=404 if error.declared else 410,
    )


def method_not_allowed(request: HttpRequest, refusal: HttpResponseNotAllowed) -> HttpResponseBase:
    """405 as a page that says what the address does take."""
    allowed = refusal["Allow"]
    page = render(request, "errors/405.html", {"allowed": allowed}, status=405)
    page["Allow"] = allowed
    return page


def server_error(request: HttpRequest) -> HttpResponse:
    """500 with a reference, under which the traceback stands in the log."""
    reference = secrets.token_hex(4)
    log.exception("reference %s: %s %a", reference, request.method, request.path)
    return render(request, "errors/500.html", {"reference": reference}, status=500)


def box_unreachable(request: HttpRequest, error: BoxUnreachableError) -> HttpResponse:
    """503 while the box's database does not answer."""
    log.warning("%s", error)
    return _unavailable(request, "errors/503.html", {"since": timezone.now()})


def not_migrated(request: HttpRequest, error: NotMigratedError) -> HttpResponse:
    """503 while the database has no tables, or older ones."""
    log.warning("%s", error)
    return _unavailable(request, "errors/503_not_migrated.html", {})


def _unavailable(request: HttpRequest, template: str, context: dict[str, object]) -> HttpResponse:
    page = render(request, template, context, status=503)
    page["Retry-After"] = "15"
    return page
