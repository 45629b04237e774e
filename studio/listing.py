"""The list of limits as an operator asks for it: found, filtered, sorted. Pure, over what one query returned."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.core.paginator import Page, Paginator

from limits.queries import Health, LimitState
from studio.wording import counted, grouped

UNPAGED_MAX: Final = 200
"""Up to so many limits stand on one page."""
PAGE_SIZE: Final = 100

# What wants a person first. An anomaly stands before what somebody decided, that before plain load.
_SEVERITY: Final = (
    Health.STUCK,
    Health.OVER,
    Health.PAUSED,
    Health.FULL,
    Health.FILLING,
    Health.UNDECLARED,
    Health.OPEN,
    Health.IDLE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A part of the limits. `rare`: its link shows only where it has something to show.

    Filters ask for facts, not for the state word: a paused limit can be full as well, and belongs to both.
    """

    key: str
    word: str
    none: str
    matches: Callable[[LimitState], bool]
    rare: bool = False


FILTERS: Final = (
    Filter(key="", word="All", none="There are no limits.", matches=lambda _: True),
    Filter(
        key="waiting",
        word="Waiting",
        none="No run is waiting for a limit.",
        matches=lambda x: x.waiting > 0,
    ),
    Filter(
        key="full",
        word="Full",
        none="No limit is full.",
        matches=lambda x: x.held == x.capacity.effective,
    ),
    Filter(
        key="over",
        word="Over",
        none="No limit is over capacity.",
        matches=lambda x: x.over > 0,
    ),
    Filter(
        key="paused",
        word="Paused",
        none="No limit is paused.",
        matches=lambda x: x.paused,
        rare=True,
    ),
    Filter(
        key="stuck",
        word="Not handing out",
        none="Every limit hands out its free slots.",
        matches=lambda x: x.health is Health.STUCK,
        rare=True,
    ),
    Filter(
        key="override",
        word="Override",
        none="No limit has an override.",
        matches=lambda x: x.overridden,
    ),
)


# What the summary counts beside all limits and all waiting runs, the gravest first.
_TROUBLE: Final = {
    "stuck": "not handing out",
    "over": "over capacity",
    "paused": "paused",
    "full": "full",
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
        by=lambda x: (_SEVERITY.index(x.health), -x.over, -x.waiting),
        falling=False,
    ),
)


def sort_keys(limit: LimitState) -> dict[str, float]:
    """Return what a limit is sorted by, in numbers: a browser tells by them whether a drawn order still holds."""
    severity = _SEVERITY.index(limit.health)
    return {
        "busy": limit.held / limit.capacity.effective,
        "waiting": limit.waiting,
        "oldest": -limit.oldest_asked_at.timestamp() if limit.oldest_asked_at else -math.inf,
        "state": severity * 1e12 - limit.over * 1e6 - limit.waiting,
    }


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


def filter_links(limits: list[LimitState], chosen: Filter | None) -> list[Counted]:
    """Return the filters to offer, with their counts."""
    counted = [Counted(filter=f, count=sum(map(f.matches, limits)), chosen=f is chosen) for f in FILTERS]
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
    parts = [Said(text=counted(len(limits), "limit", "limits"), key="")]
    for key, words in _TROUBLE.items():
        if count := sum(map(filter_of(key).matches, limits)):
            parts.append(Said(text=f"{grouped(count)} {words}", key=key))
    if waiting:
        return [*parts, Said(text=f"{counted(waiting, 'run', 'runs')} waiting", key="waiting")]
    return [*parts, Said(text="nothing waiting", key=None)]


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
