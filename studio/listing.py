"""The list of limits as an operator asks for it: found, filtered, sorted. Pure, over what one query returned."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext_lazy

from limits.queries import LimitState
from studio.order import severity
from studio.templatetags.studio import grouped

UNPAGED_MAX: Final = 200
"""Up to so many limits stand on one page."""
PAGE_SIZE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A part of the limits. `rare`: its link shows only where it has something to show.

    Filters ask for facts, not for the state word: a paused limit can be full as well, and belongs to both.
    """

    key: str
    word: str | Promise
    none: str | Promise
    matches: Callable[[LimitState], bool]
    rare: bool = False


FILTERS: Final = (
    Filter(
        key="", word=pgettext_lazy("limits", "All"), none=gettext_lazy("There are no limits."), matches=lambda _: True
    ),
    Filter(
        key="waiting",
        word=pgettext_lazy("limits", "Waiting"),
        none=gettext_lazy("No run is waiting for a limit."),
        matches=lambda x: x.waiting > 0,
    ),
    Filter(
        key="full",
        word=pgettext_lazy("limits", "Full"),
        none=gettext_lazy("No limit is full."),
        matches=lambda x: x.held == x.capacity.effective,
    ),
    Filter(
        key="over",
        word=pgettext_lazy("limits", "Over"),
        none=gettext_lazy("No limit is over capacity."),
        matches=lambda x: x.over > 0,
    ),
    Filter(
        key="paused",
        word=pgettext_lazy("limits", "Paused"),
        none=gettext_lazy("No limit is paused."),
        matches=lambda x: x.paused,
        rare=True,
    ),
    Filter(
        key="stuck",
        word=pgettext_lazy("limits", "Not handing out"),
        none=gettext_lazy("Every limit hands out its free slots."),
        matches=lambda x: x.stuck,
        rare=True,
    ),
    Filter(
        key="overdue",
        word=pgettext_lazy("limits", "Overdue"),
        none=gettext_lazy("No slot is overdue."),
        matches=lambda x: x.overdue,
        rare=True,
    ),
    Filter(
        key="override",
        word=pgettext_lazy("limits", "Override"),
        none=gettext_lazy("No limit has an override."),
        matches=lambda x: x.overridden,
    ),
)


# What the summary counts beside all limits and all waiting runs, the gravest first.
_TROUBLE: Final[dict[str, Callable[[int], str]]] = {
    "stuck": lambda n: ngettext("{n} not handing out", "{n} not handing out", n),
    "overdue": lambda n: ngettext("{n} overdue", "{n} overdue", n),
    "over": lambda n: ngettext("{n} over capacity", "{n} over capacity", n),
    "paused": lambda n: ngettext("{n} paused", "{n} paused", n),
    "full": lambda n: ngettext("{n} full", "{n} full", n),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column the list can be sorted by. `falling`: the first click puts the largest on top."""

    key: str
    by: Callable[[LimitState], Any]
    falling: bool = True


COLUMNS: Final = (
    Column(key="name", by=lambda x: x.name, falling=False),
    Column(key="busy", by=lambda x: x.held / x.capacity.effective),
    Column(key="waiting", by=lambda x: x.waiting),
    Column(
        key="oldest",
        by=lambda x: x.now - x.oldest_asked_at if x.oldest_asked_at else timedelta(-1),
    ),
    Column(
        key="state",
        by=lambda x: (severity(x.health), -x.over, -x.waiting),
        falling=False,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """How one column head stands: `sort` is what its link asks for; `order` the value of `aria-sort`, if any."""

    sort: str | None
    order: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A filter and how many limits it shows."""

    filter: Filter
    count: int
    chosen: bool


def found(limits: Iterable[LimitState], q: str) -> list[LimitState]:
    """Return the limits with `q` anywhere in their name, in any case of letters."""
    wanted = q.casefold()
    return [limit for limit in limits if wanted in limit.name]


def filter_of(key: str) -> Filter:
    """Return the filter of that key; an unknown key shows everything."""
    return next((f for f in FILTERS if f.key == key), FILTERS[0])


def counts(limits: list[LimitState]) -> dict[str, int]:
    """Return by the key of each filter how many limits it shows."""
    return {f.key: sum(map(f.matches, limits)) for f in FILTERS}


def filter_links(limits: list[LimitState], chosen: Filter) -> list[Counted]:
    """Return the filters to offer, with their counts."""
    shown = counts(limits)
    counted = [Counted(filter=f, count=shown[f.key], chosen=f is chosen) for f in FILTERS]
    return [c for c in counted if c.count or c.chosen or not c.filter.rare]


def ordered(limits: list[LimitState], sort: str) -> list[LimitState]:
    """Sort by a column's key, with a hyphen before it the other way round; an odd key leaves A to Z.

    Stable: what is equal stays in the order of names, whichever way the column runs.
    """
    for column in COLUMNS:
        if sort.removeprefix("-") == column.key:
            turned = sort.startswith("-") != column.falling
            return sorted(limits, key=column.by, reverse=turned)
    return limits


def column_heads(sort: str) -> dict[str, Sorted]:
    """Return for each column what a click on its head asks for, and whether it rules the order now."""
    heads = {}
    chosen = sort.removeprefix("-")
    if chosen not in {column.key for column in COLUMNS}:
        sort = chosen = "name"
    for column in COLUMNS:
        turned = sort.startswith("-")
        rising = turned == column.falling
        heads[column.key] = Sorted(
            sort=_asked(f"-{column.key}") if chosen == column.key and not turned else _asked(column.key),
            order=("ascending" if rising else "descending") if chosen == column.key else None,
        )
    return heads


def _asked(sort: str) -> str | None:
    # The default order needs no word in the address.
    return None if sort == "name" else sort


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A part of the summary; `key` is the filter it leads to, none for what is no link."""

    text: str
    key: str | None


def summary(limits: list[LimitState]) -> list[Said]:
    """Say how the box stands: how many limits, what is wrong with how many, how many runs wait."""
    waiting = sum(limit.waiting for limit in limits)
    everything = ngettext("{n} limit", "{n} limits", len(limits))
    parts = [Said(text=everything.format(n=grouped(len(limits))), key="")]
    for key, words in _TROUBLE.items():
        if count := sum(map(filter_of(key).matches, limits)):
            parts.append(Said(text=words(count).format(n=grouped(count)), key=key))
    if waiting:
        runs = ngettext("{n} run waiting", "{n} runs waiting", waiting)
        return [*parts, Said(text=runs.format(n=grouped(waiting)), key="waiting")]
    return [*parts, Said(text=gettext("nothing waiting"), key=None)]


def summed_up(limits: list[LimitState]) -> dict[str, Any]:
    """Return what the head of the list, the page's title and its icon are drawn from."""
    return {
        "summary": summary(limits),
        "over": sum(limit.over > 0 for limit in limits),
        "waiting": any(limit.waiting for limit in limits),
    }


def page(limits: list[LimitState], number: str | None) -> Page[LimitState]:
    """Return one page of the list; a number that is none is the first, one too large the last."""
    size = max(1, len(limits)) if len(limits) <= UNPAGED_MAX else PAGE_SIZE
    return Paginator(limits, size).get_page(number)
