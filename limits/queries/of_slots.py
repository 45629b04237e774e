"""Reads of slots: one, the queue's head, the expiries, and the pages of a limit."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from limits import names, rules
from limits.errors import InvalidValueError
from limits.pool import Database, default
from limits.queries.values import Page, SlotRow

_SLOT: Final = """
    SELECT s.id::text, l.name AS limit, s.state, s.number, s.label, s.run_id, s.workflow, NULL::bigint AS position,
           s.asked_at, s.granted_at, s.confirmed_at, s.reserved_until, s.expires_at,
           CASE WHEN s.state IN ('waiting', 'reserved') THEN s.times_out_at END AS times_out_at,
           s.missed, s.ended_at, s.ended_by, s.end_reason, s.key
    FROM limits.slot s JOIN limits.limit l ON l.id = s.limit_id
"""


def slot(slot_id: str, *, db: Database | None = None) -> SlotRow | None:
    """Return one slot, live or ended; none for an id never known, or one that was pruned."""
    if not names.is_slot_id(slot_id):
        return None
    rows = (db or default()).fetch(_SLOT + " WHERE s.id = %s", (slot_id,))
    return SlotRow(**rows[0]) if rows else None


def head(limit: str, *, db: Database | None = None) -> SlotRow | None:
    """Return the first of the queue; none while nobody waits."""
    rows = (db or default()).fetch(
        _SLOT  # noqa: S608  (constants only)
        + """
        WHERE s.limit_id = (SELECT x.id FROM limits.limit x WHERE x.name = %(limit)s)
          AND s.state = 'waiting' AND s.ended_at IS NULL
          AND s.number >= (SELECT x.head_number FROM limits.limit x WHERE x.name = %(limit)s)
        ORDER BY s.number LIMIT 1
        """,
        {"limit": limit},
    )
    return replace(SlotRow(**rows[0]), position=1) if rows else None


def expiries(limit: str, *, skip: int = 0, count: int = 1, db: Database | None = None) -> list[datetime]:
    """Return when the busy slots expire, soonest first, `count` of them after the first `skip`."""
    rows = (db or default()).fetch(
        """
        SELECT s.due_at FROM limits.slot s
        WHERE s.limit_id = (SELECT l.id FROM limits.limit l WHERE l.name = %s) AND s.state = 'busy' AND s.ended_at IS NULL
        ORDER BY s.due_at OFFSET %s LIMIT %s
        """,
        (limit, skip, count),
    )
    return [row["due_at"] for row in rows]


def expiries_after(
    limit: str, after: datetime, *, count: int = 1_000, db: Database | None = None
) -> list[tuple[datetime, int]]:
    """Return when busy slots expire after an instant, soonest first, `count` slots or a few more, and how many then."""
    rows = (db or default()).fetch(
        """
        SELECT e.due_at, count(*) AS slots FROM (
            SELECT s.due_at FROM limits.slot s
            WHERE s.limit_id = (SELECT l.id FROM limits.limit l WHERE l.name = %s)
              AND s.state = 'busy' AND s.ended_at IS NULL AND s.due_at > %s
            ORDER BY s.due_at FETCH FIRST (%s) ROWS WITH TIES
        ) e GROUP BY e.due_at ORDER BY e.due_at
        """,
        (limit, after, count),
    )
    return [(row["due_at"], row["slots"]) for row in rows]


def last_expiry(limit: str, *, db: Database | None = None) -> datetime | None:
    """Return when the last of the busy slots expires; none while none is busy."""
    rows = (db or default()).fetch(
        """
        SELECT s.due_at FROM limits.slot s
        WHERE s.limit_id = (SELECT l.id FROM limits.limit l WHERE l.name = %s) AND s.state = 'busy' AND s.ended_at IS NULL
        ORDER BY s.due_at DESC LIMIT 1
        """,
        (limit,),
    )
    return rows[0]["due_at"] if rows else None


# The limit comes from a subquery, not from a join: only so is the order that of an index, and a page costs a page.
# Planned while there are few slots all indexes cost the same, and a session keeps its plan when there are many: what
# shall be found by one index must not be findable by another (an order that only one gives; IS NOT DISTINCT FROM,
# which no index serves).

# A page in queue order: for busy and reserved slots that is the order of their grants, oldest first.
_BY_NUMBER: Final = """
    SELECT s.* FROM limits.slot s
    WHERE s.limit_id = (SELECT w.id FROM wanted w) AND s.state = %(state)s AND s.ended_at IS NULL
      AND s.number > (SELECT w.after FROM wanted w)
    ORDER BY s.number LIMIT %(count)s + 1
"""

# Soonest to expire first.
_BY_EXPIRY: Final = """
    SELECT s.* FROM limits.slot s
    WHERE s.limit_id = (SELECT w.id FROM wanted w) AND s.state = %(state)s AND s.ended_at IS NULL
      AND (s.due_at, s.id) > (%(after_due)s, %(after_id)s::uuid)
    ORDER BY s.due_at FETCH FIRST (%(count)s + 1) ROWS WITH TIES
"""

# What a search finds at most by its indexes; beyond that it walks the list and filters, which then finds enough soon.
_FEW: Final = 1_000

# `~>=~` and its like are what the two indexes of the search offer, and no other: whatever the plan, it is by them.
_FOUND: Final = """
    (SELECT s.number, s.id FROM limits.slot s
     WHERE s.limit_id = (SELECT w.id FROM wanted w) AND s.state = %(state)s AND s.ended_at IS NULL
       AND s.label ~>=~ %(q)s AND s.label ~<=~ %(q_end)s
     ORDER BY s.label USING ~<~ LIMIT %(few)s + 1)
    UNION
    (SELECT s.number, s.id FROM limits.slot s
     WHERE s.limit_id = (SELECT w.id FROM wanted w) AND s.state = %(state)s AND s.ended_at IS NULL
       AND s.run_id ~>=~ %(q)s AND s.run_id ~<=~ %(q_end)s
     ORDER BY s.run_id USING ~<~ LIMIT %(few)s + 1)
    UNION
    (SELECT s.number, s.id FROM limits.slot s
     WHERE s.id BETWEEN %(id_from)s::uuid AND %(id_until)s::uuid
       AND s.limit_id IS NOT DISTINCT FROM (SELECT w.id FROM wanted w)
       AND s.state IS NOT DISTINCT FROM %(state)s
     ORDER BY s.id LIMIT %(few)s + 1)
"""

_SEARCH_FEW: Final = """
    SELECT s.* FROM limits.slot s
    WHERE s.id = ANY (%(ids)s::uuid[])
      AND s.limit_id IS NOT DISTINCT FROM (SELECT w.id FROM wanted w) AND s.state IS NOT DISTINCT FROM %(state)s
"""

_SEARCH_MANY: Final = """
    SELECT s.* FROM limits.slot s
    WHERE s.limit_id = (SELECT w.id FROM wanted w) AND s.state = %(state)s AND s.ended_at IS NULL
      AND s.number > (SELECT w.after FROM wanted w)
      AND (starts_with(s.label, %(q)s) OR starts_with(s.run_id, %(q)s)
           OR s.id BETWEEN %(id_from)s::uuid AND %(id_until)s::uuid)
    ORDER BY s.number LIMIT %(count)s + 1
"""

# `after` is at least the head bound: a page never walks the dead entries before the queue's head.
_WANTED: Final = """
    wanted AS MATERIALIZED (
        SELECT l.id, l.name,
               CASE WHEN %(place)s > 0 THEN %(after)s ELSE l.head_number - 1 END AS counted_from,
               CASE %(state)s WHEN 'waiting' THEN greatest(%(after)s, l.head_number - 1) ELSE %(after)s END AS after
        FROM limits.limit l WHERE l.name = %(limit)s
    )
"""

# A waiting slot's position: how many wait between it and the row before it, summed up. One pass over the queue's
# index as far as the page's last row, and next to nothing on the first page, or where the place before is known.
_PAGE: Final = """
    , gap AS (
        SELECT p.*, CASE WHEN p.state = 'waiting' THEN (
            SELECT count(*) FROM (
                SELECT FROM limits.slot s
                WHERE s.limit_id = p.limit_id AND s.state = 'waiting' AND s.ended_at IS NULL
                  AND s.number > p.previous AND s.number <= p.number
                ORDER BY s.number
            ) ahead
        ) END AS steps
        FROM (
            SELECT page.*, lag(page.number, 1, w.counted_from) OVER (ORDER BY page.number) AS previous
            FROM page, wanted w
        ) p
    )
    SELECT g.id::text, w.name AS limit, g.state, g.number, g.label, g.run_id, g.workflow,
           (%(place)s + sum(g.steps) OVER (ORDER BY g.number))::bigint AS position,
           g.asked_at, g.granted_at, g.confirmed_at, g.reserved_until, g.expires_at,
           CASE WHEN g.state IN ('waiting', 'reserved') THEN g.times_out_at END AS times_out_at,
           g.missed, g.ended_at, g.ended_by, g.end_reason, g.key
    FROM gap g, wanted w
"""


def slots(
    limit: str,
    *,
    state: str,
    after: str | None = None,
    count: int = rules.PAGE_SIZE,
    q: str | None = None,
    order: str = "oldest",
    place: int = 0,
    db: Database | None = None,
) -> Page[SlotRow]:
    """Return a page of a limit's slots in `state` ("busy", "reserved" or "waiting"); empty for an unknown limit.

    Oldest first, which for waiting slots is the queue's order, or `order="expiry"`, soonest to expire first. `q`
    keeps those whose label, run or slot id starts with it. `place`, the position of the last of the page before, spares
    counting the queue up to there. Raises `InvalidValueError` for a bad `after`.
    """
    database = db or default()
    if q is not None and "\0" in q:
        return Page(items=[], next=None)
    values: dict[str, Any] = {"limit": limit, "state": state, "count": count, "after": 0, "place": place}
    page, ordered = _BY_NUMBER, " ORDER BY g.number"
    if q:
        values |= _search(q) | {"after": _after_number(after)}
        found = database.fetch(
            "WITH " + _WANTED + ", found AS (" + _FOUND + ") SELECT number, id FROM found LIMIT %(few)s + 1",  # noqa: S608  (constants only)
            values | {"few": _FEW},
        )
        few = sorted((row["number"], row["id"]) for row in found if row["number"] > values["after"])
        values["ids"] = [slot_id for _, slot_id in few[: count + 1]]
        page = _SEARCH_FEW if len(found) <= _FEW else _SEARCH_MANY
    elif order == "expiry":
        values["after_due"], values["after_id"] = _after_expiry(after)
        page, ordered = _BY_EXPIRY, " ORDER BY g.due_at, g.id LIMIT %(count)s + 1"
    else:
        values["after"] = _after_number(after)
    rows = database.fetch("WITH " + _WANTED + ", page AS (" + page + ")" + _PAGE + ordered, values)
    items = [SlotRow(**row) for row in rows[:count]]
    more = len(rows) > count
    return Page(items=items, next=_cursor(items[-1], by_expiry=order == "expiry" and not q) if more else None)


def _search(q: str) -> dict[str, Any]:
    # The ids that start with q, as a range; none does where q is no part of an id.
    digits = q.replace("-", "")
    some_id = 0 < len(digits) <= 32 and set(digits) <= set("0123456789abcdef") and "--" not in q
    return {
        "q": q,
        "q_end": q + "\U0010ffff",
        "id_from": digits.ljust(32, "0") if some_id else "f" * 32,
        "id_until": digits.ljust(32, "f") if some_id else "0" * 32,
    }


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _cursor(last: SlotRow, *, by_expiry: bool) -> str:
    if by_expiry and last.expires_at is not None:
        return f"{(last.expires_at - _EPOCH) // timedelta(microseconds=1)}_{last.id}"
    return str(last.number)


def _after_number(after: str | None) -> int:
    if after is None:
        return 0
    return _whole(after, given=after)


def _after_expiry(after: str | None) -> tuple[datetime, str]:
    if after is None:
        return _EPOCH, "0" * 32
    instant, _, slot_id = after.partition("_")
    microseconds = _whole(instant, given=after)
    if not names.is_slot_id(slot_id):
        raise _bad_cursor(after)
    return _EPOCH + timedelta(microseconds=microseconds), slot_id


def _whole(digits: str, *, given: str) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 17):
        raise _bad_cursor(given)
    return int(digits)


def _bad_cursor(given: str) -> InvalidValueError:
    return InvalidValueError("after", f"must come from the page before, got {given[:40]!r}")
