"""What every request passes: who may come in, static files, compression, caching, errors as pages, the log line.

All of it is synchronous, so that one thread carries a request from end to end; Django adapts
asynchronous views by itself.
"""

import logging
import time
from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from whitenoise.middleware import WhiteNoiseMiddleware  # type: ignore[import-untyped]
from whitenoise.responders import StaticFile  # type: ignore[import-untyped]

from limits.errors import BoxUnreachableError, NotMigratedError, UnknownLimitError
from studio.environment import is_loopback_address
from studio.views import errors

type GetResponse = Callable[[HttpRequest], HttpResponseBase]

log = logging.getLogger("studio.requests")

_UNREMARKABLE = frozenset({"GET", "HEAD"})


class OneLinePerRequest:
    """Log what changed something or went wrong, one line each; reading that works is silent."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self.get_response(request)
        if request.method not in _UNREMARKABLE or response.status_code >= 400:
            log.log(
                logging.WARNING if response.status_code >= 500 else logging.INFO,
                "%s %a %d %.0f ms",
                request.method,
                request.path,
                response.status_code,
                (time.perf_counter() - started) * 1000,
            )
        return response


class LoopbackOnly:
    """Refuse every name and every peer that is not this machine's own loopback.

    The name matters as much as the peer: a page of somebody else's site, whose name was made to
    point here (DNS rebinding), arrives from this machine too, but under that site's name.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        peer = request.META.get("REMOTE_ADDR", "")
        try:
            request.get_host()
        except DisallowedHost:
            return errors.foreign_host(request)
        # Empty where a socket file is the way in, which only this machine has.
        if peer and not is_loopback_address(peer):
            return errors.foreign_host(request)
        return self.get_response(request)


class Compressed(GZipMiddleware):
    """Compress pages and static files for browsers that take it: a tenth of a page is left, or less.

    What compresses gives secrets away by its length to who can also write into it (BREACH). The one secret of a page
    is the form's token, which Django masks anew for each page, and the length varies at random besides.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress all but a part of a file: its range counts the bytes of the file as it is."""
        return response if response.status_code == 206 else super().process_response(request, response)


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serve static files whole.

    WhiteNoise streams them from a plain iterator, which Django reads at once under ASGI anyway,
    with a warning.
    """

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """Answer with the file, or with 304 where the browser has it already."""
        asked = dict(request.META)
        if known := asked.get("HTTP_IF_NONE_MATCH"):
            # Compressed, a file goes by a weak tag, which WhiteNoise would not know again.
            asked["HTTP_IF_NONE_MATCH"] = known.removeprefix("W/")
        found = static_file.get_response(request.method, asked)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status))
        for name, value in found.headers:
            response[name] = value
        return response


class PrivatePages:
    """Keep pages out of shared caches: a browser may keep one for Back, but asks before it shows it.

    A view that sets `Cache-Control` itself (fragments: `no-store`) is left alone.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        kept = response.status_code < 400
        response.headers.setdefault("Cache-Control", "private, no-cache" if kept else "no-store")
        return response


class DoneInPlace:
    """Answer a form that a script sent with its outcome alone, where a browser without scripts is sent on to a page.

    The header `Studio-Done` tells what came of it: success, info (nothing changed) or error.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        said = list(messages.get_messages(request)) if _is_done(request, response) else []
        if not said:
            return response
        done = render(request, "components/messages.html", {"messages": said})
        done["Studio-Done"] = max(said, key=lambda message: message.level).level_tag
        done["Cache-Control"] = "no-store"
        return done


def _is_done(request: HttpRequest, response: HttpResponseBase) -> bool:
    return request.method == "POST" and response.status_code == 303 and "HX-Request" in request.headers


class ErrorPages:
    """Turn what a view raises or refuses into a whole page in the house style."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            return errors.method_not_allowed(request, response)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer for the errors an operator can understand; all others become the 500 page."""
        match exception:
            case UnknownLimitError():
                return errors.unknown_limit(request, exception)
            case BoxUnreachableError():
                return errors.box_unreachable(request, exception)
            case NotMigratedError():
                return errors.not_migrated(request, exception)
            case _:
                return None
