"""The lists of a limit's page, read a page at a time; each list has its own place in the address."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from limits import queries
from limits.queries import LimitState, SlotRow
from studio import rows, sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One list of a limit's page. `total` counts all of it, whatever the search finds."""

    key: str
    total: int
    rows: list[Any]
    next: str | None
    later: bool
    """Whether this is a page after the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The three lists of a limit's page."""

    busy: Section
    reserved: Section
    queue: Section


def head(limit: LimitState) -> dict[str, Any]:
    """Return what the head of a limit's page is drawn from."""
    return {
        "limit": limit,
        "standing": sentences.standing(limit, queries.next_move(limit)),
        "overdue": sentences.overdue(limit),
    }


def expiry(limit: LimitState, place: int) -> datetime | None:
    """Return when the slot expires that stands at this place among the busy ones, the soonest to expire first."""
    if not 1 <= place <= limit.busy:
        return None
    found = queries.expiries(limit.name, skip=place - 1, count=1)
    return found[0] if found else None


def read(limit: LimitState, asked: Mapping[str, str], *, q: str, order: str) -> Sections:
    """Read the pages that `asked` names by a list's key; raises `InvalidValueError` for a place that is none."""
    busy, busy_next = _page(limit, "busy", limit.busy, asked.get("busy"), q=q, order=order)
    reserved, reserved_next = _page(limit, "reserved", limit.reserved, asked.get("reserved"), q=q)
    queue, queue_next = _page(limit, "waiting", limit.waiting, asked.get("queue"), q=q)
    return Sections(
        busy=_section("busy", limit.busy, rows.held(busy, limit), busy_next, asked),
        reserved=_section("reserved", limit.reserved, rows.held(reserved, limit), reserved_next, asked),
        queue=_section(
            "queue", limit.waiting, rows.queued(queue, limit, queries.starts(limit, queue)), queue_next, asked
        ),
    )


def _page(
    limit: LimitState, state: str, total: int, after: str | None, *, q: str, order: str = "oldest"
) -> tuple[list[SlotRow], str | None]:
    if not total:
        return [], None
    page = queries.slots(limit.name, state=state, after=after or None, q=q or None, order=order)
    return page.items, page.next


def _section(key: str, total: int, found: list[Any], following: str | None, asked: Mapping[str, str]) -> Section:
    return Section(key=key, total=total, rows=found, next=following, later=bool(asked.get(key)))
