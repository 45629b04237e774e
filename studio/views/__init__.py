"""Studio's pages: a function for each thing an operator does or reads."""

import re
from typing import Final

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from limits import queries
from limits.errors import UnknownLimitError
from limits.queries import LimitState

_SEARCH_MAX: Final = 201
"""Nothing that can be searched for is that long, so what is cut off could find nothing either."""


def known(name: str) -> LimitState:
    """Return the limit of that name, declared or not; `UnknownLimitError` with near names if there never was one."""
    limit = queries.limit(name)
    if limit is None:
        raise UnknownLimitError(name, queries.near_names(name))
    return limit


def see_other(name: str, *args: object) -> HttpResponseRedirect:
    """Send the browser to the page of that URL name with a GET (303), after a POST that was done."""
    return HttpResponseRedirect(reverse(name, args=args), status=303)


def asked(request: HttpRequest, key: str) -> str:
    """Return what the address asks for under `key`, trimmed; empty if nothing."""
    # A control character is in nothing that can be found, and must not be in a page.
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "\ufffd", request.GET.get(key, "").strip()[:_SEARCH_MAX])
