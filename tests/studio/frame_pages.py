"""Addresses that go wrong in every way a page can, for the tests of the frame."""

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_POST

from limits.errors import BoxUnreachableError, NotMigratedError, UnknownLimitError
from studio.urls import handler400, handler403, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500"]

FAULTS = {
    "unknown": UnknownLimitError("voice-cals", ["voice-calls", "voice-mail"]),
    "undeclared": UnknownLimitError("old", declared=False),
    "away": BoxUnreachableError("the box's database does not answer: refused"),
    "empty": NotMigratedError(),
    "fault": KeyError("a detail for the log alone"),
    "gone": Http404("That slot was never handed out"),
}


def fault(request: HttpRequest, kind: str) -> HttpResponse:
    raise FAULTS[kind]


def page(request: HttpRequest) -> HttpResponse:
    return render(request, "base.html")


def lines(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse((f"line {number}\n" for number in range(1_000)), content_type="text/plain")


urlpatterns = [
    *urlpatterns,
    path("fault/<str:kind>/", fault),
    path("page/", page),
    path("lines/", lines),
    path("act/", require_POST(page)),
]
