"""What open screens fetch: the parts of a page that change, each on an address of its own.

No browser takes one of these for the page itself, on the way back or from a cache.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from limits import names, queries
from studio import history, sentences
from studio.feed import mark
from studio.views import asked, known, limits, runs

_FRESH: Final = 1
"""Seconds for which a drawing of one state serves everybody: clocks in it tick on in the browser."""
FATES_MAX: Final = 20
# Messages are for the page that somebody opens, and are gone once they were written.
_UNSAID: Final[dict[str, Any]] = {"messages": []}


@never_cache
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Draw the list for a page that is open already."""
    everything = queries.limits()
    state = mark((limit.name, limit.revision) for limit in everything)
    return _drawn(request, "limits/live_index.html", state, lambda: limits.index_context(request, everything))


@never_cache
@require_safe
def detail(request: HttpRequest, name: str) -> HttpResponse:
    """Draw a limit's head and lists for a page that is open already."""
    limit = known(name)
    return _drawn(
        request, "limits/live_detail.html", str(limit.revision), lambda: limits.detail_context(request, limit)
    )


@never_cache
@require_safe
def past(request: HttpRequest, name: str) -> HttpResponse:
    """Draw a limit's history for a page that is open already."""
    limit = known(name)

    def context() -> dict[str, Any]:
        return {"limit": limit, "history": history.section(limit, asked(request, "range"))}

    return _drawn(request, "limits/history.html#history", str(limit.revision), context)


@never_cache
@require_safe
def fates(request: HttpRequest, name: str) -> HttpResponse:
    """Draw what became of slots that have just left the list: `?slot=<id>`, at most 20."""
    limit = known(name)
    ids = [slot_id for slot_id in request.GET.getlist("slot")[:FATES_MAX] if names.is_slot_id(slot_id)]
    slots = [slot for slot in map(queries.slot, ids) if slot is not None and slot.limit == name]
    ended = [(slot, sentences.how_it_ended(slot, limit.now)) for slot in slots]
    return HttpResponse(render_to_string("limits/fates.html", {"limit": limit, "ended": ended}))


@never_cache
@require_safe
def run_index(request: HttpRequest) -> HttpResponse:
    """Draw the list of runs for a page that is open already."""
    return HttpResponse(render_to_string("runs/index.html", runs.index_context(request) | _UNSAID, request))


@never_cache
@require_safe
def run_detail(request: HttpRequest, run_id: str) -> HttpResponse:
    """Draw a run for a page that is open already."""
    return HttpResponse(render_to_string("runs/detail.html", runs.detail_context(run_id) | _UNSAID, request))


def _drawn(request: HttpRequest, template: str, state: str, context: Callable[[], dict[str, Any]]) -> HttpResponse:
    # Many screens ask for the same within a moment of each change.
    # Hashed: an address may hold what no key may.
    key = blake2b(f"{request.get_full_path()} {state} {get_language()}".encode()).hexdigest()
    html = cache.get(key)
    if html is None:
        html = render_to_string(template, context(), request)
        cache.set(key, html, _FRESH)
    return HttpResponse(html)
