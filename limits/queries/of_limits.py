"""Reads of limits, and of the record of what was changed about them."""

import difflib
from collections.abc import Sequence
from datetime import datetime
from typing import Final, LiteralString

from psycopg.rows import DictRow

from limits import rules
from limits.errors import InvalidValueError
from limits.pool import Database, default
from limits.queries.values import Change, LimitState, Page, Pause, Setting

# A lateral join looks an override up by its index; a plain one would compare each limit with every override.
_LIMITS: Final = """
    SELECT l.*, limits.clock() AS now,
           c.value AS capacity_override, c.set_by AS capacity_by, c.set_at AS capacity_at,
           c.reason AS capacity_reason,
           h.value AS max_hold_override, h.set_by AS max_hold_by, h.set_at AS max_hold_at,
           h.reason AS max_hold_reason,
           CASE WHEN l.waiting > 0 THEN (
               SELECT s.asked_at FROM limits.slot s
               WHERE s.limit_id = l.id AND s.state = 'waiting' AND s.ended_at IS NULL AND s.number >= l.head_number
               ORDER BY s.number LIMIT 1
           ) END AS oldest_asked_at,
           CASE WHEN l.busy > 0 THEN (
               SELECT s.due_at FROM limits.slot s
               WHERE s.limit_id = l.id AND s.state = 'busy' AND s.ended_at IS NULL
               ORDER BY s.due_at LIMIT 1
           ) END AS next_expiry
    FROM limits.limit l
    LEFT JOIN LATERAL (
        SELECT * FROM limits.override o WHERE o.limit_id = l.id AND o.field = 'capacity' LIMIT 1
    ) c ON true
    LEFT JOIN LATERAL (
        SELECT * FROM limits.override o WHERE o.limit_id = l.id AND o.field = 'max_hold' LIMIT 1
    ) h ON true
"""


_LISTED: Final = " WHERE (l.declared OR l.busy + l.reserved + l.waiting > 0)"


def limits(*, names: Sequence[str] | None = None, db: Database | None = None) -> list[LimitState]:
    """Return every limit from A to Z; one that is no longer declared only while it has slots (D8).

    `names` leaves out all others.
    """
    if names is None:
        rows = (db or default()).fetch(_LIMITS + _LISTED + " ORDER BY l.name")
    else:
        rows = (db or default()).fetch(_LIMITS + _LISTED + " AND l.name = ANY(%s) ORDER BY l.name", (list(names),))
    return [_limit_state(row) for row in rows]


def revisions(*, db: Database | None = None) -> tuple[datetime, dict[str, int]]:
    """Return the box's time, and the revision of every limit that `limits` returns: it moves with each change."""
    (row,) = (db or default()).fetch(
        "SELECT limits.clock() AS now, coalesce(array_agg(l.name), '{}') AS names,"  # noqa: S608  (constants only)
        " coalesce(array_agg(l.revision), '{}') AS revisions FROM limits.limit l" + _LISTED
    )
    return row["now"], dict(zip(row["names"], row["revisions"], strict=True))


def limit(name: str, *, db: Database | None = None) -> LimitState | None:
    """Return one limit, also one that is no longer declared; none if there never was one of that name."""
    if "\0" in name:
        return None
    rows = (db or default()).fetch(_LIMITS + " WHERE l.name = %s", (name,))
    return _limit_state(rows[0]) if rows else None


def near_names(name: object, *, db: Database | None = None) -> list[str]:
    """Return the names of declared limits that look like `name`, the nearest first, at most three; none for no text."""
    if not isinstance(name, str):
        return []
    rows = (db or default()).fetch("SELECT name FROM limits.limit WHERE declared ORDER BY name")
    return difflib.get_close_matches(name[: rules.NAME_LENGTH_MAX].lower(), [row["name"] for row in rows])


def changes(
    *, limit: str | None = None, after: str | None = None, count: int = 50, db: Database | None = None
) -> Page[Change]:
    """Return a page of the record of changes, newest first; raises `InvalidValueError` for a bad `after`."""
    before = _cursor_number(after) if after else 2**63 - 1
    where: LiteralString = "limit_name = %(limit)s AND " if limit else ""
    rows = (db or default()).fetch(
        "SELECT id, at, limit_name AS limit, kind, before, after, actor, source, reason, slot_id::text, label"  # noqa: S608  (constants only)
        " FROM limits.change WHERE " + where + "id < %(before)s ORDER BY id DESC LIMIT %(count)s + 1",
        {"limit": limit, "before": before, "count": count},
    )
    items = [Change(**row) for row in rows[:count]]
    return Page(items=items, next=str(items[-1].id) if len(rows) > count else None)


def _cursor_number(after: str) -> int:
    if not (after.isascii() and after.isdigit() and len(after) <= 18):
        raise InvalidValueError("after", f"must come from the page before, got {after[:40]!r}")
    return int(after)


def _limit_state(row: DictRow) -> LimitState:
    return LimitState(
        name=row["name"],
        declared=row["declared"],
        capacity=_setting(row, "capacity"),
        max_hold=_setting(row, "max_hold"),
        busy=row["busy"],
        reserved=row["reserved"],
        waiting=row["waiting"],
        pause=Pause(by=row["paused_by"], at=row["paused_at"], reason=row["paused_reason"])
        if row["paused_at"]
        else None,
        oldest_asked_at=row["oldest_asked_at"],
        next_expiry=row["next_expiry"],
        changed_at=row["changed_at"],
        revision=row["revision"],
        now=row["now"],
    )


def _setting(row: DictRow, field: str) -> Setting:
    return Setting(
        effective=row[field],
        declared=row[f"declared_{field}"],
        override=row[f"{field}_override"],
        override_by=row[f"{field}_by"],
        override_at=row[f"{field}_at"],
        override_reason=row[f"{field}_reason"],
    )
