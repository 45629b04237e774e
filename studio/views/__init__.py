"""Studio's pages: a function for each thing an operator does or reads."""

from django.http import HttpResponseRedirect
from django.urls import reverse

from limits import queries
from limits.errors import UnknownLimitError
from limits.queries import LimitState


def known(name: str) -> LimitState:
    """Return the limit of that name, declared or not; `UnknownLimitError` with near names if there never was one."""
    limit = queries.limit(name)
    if limit is None:
        raise UnknownLimitError(name, queries.near_names(name))
    return limit


def see_other(name: str, *args: object) -> HttpResponseRedirect:
    """Send the browser to the page of that URL name with a GET (303), after a POST that was done."""
    return HttpResponseRedirect(reverse(name, args=args), status=303)
