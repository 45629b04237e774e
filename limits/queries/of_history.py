"""Reads of how limits stood, from the history that the sweep writes down.

A read costs what its range holds, at most one row a minute or a quarter of an hour, however many slots there were.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from psycopg.rows import DictRow

from limits.names import is_limit_name
from limits.pool import Database, default
from limits.queries.values import History, Point, Range, Spark

_MINUTE: Final = timedelta(minutes=1)
_QUARTER: Final = timedelta(minutes=15)

RANGES: Final = {
    of.key: of
    for of in (
        Range(key="1h", step=_MINUTE, count=60),
        Range(key="6h", step=5 * _MINUTE, count=72),
        Range(key="24h", step=_QUARTER, count=96),
        Range(key="7d", step=timedelta(hours=2), count=84),
    )
}
_SPARK: Final = Range(key="spark", step=3 * _MINUTE, count=20)
_MINUTES_KEPT: Final = timedelta(hours=6)

# A sweep comes by every 15 seconds; after three minutes without one, nobody knows what has been since.
_STOPPED_AFTER: Final = timedelta(minutes=3)

# One statement: the counters are of the same moment as the mark and the rows. A quarter of an hour that is not over
# has no row of its own yet, so its minutes stand in. The row before the range, `since_at`, tells how it began.
_HISTORY: Final = """
    WITH l AS MATERIALIZED (
        SELECT x.id, x.name, x.busy, x.reserved, x.waiting, x.capacity, x.changed_at, m.since, m.until, n.now, r.starts,
               date_bin('15 minutes', m.until, 'epoch') AS quarter,
               coalesce((
                   SELECT h.at FROM limits.history h
                   WHERE h.limit_id = x.id AND h.step = %(seconds)s AND h.at <= r.starts
                   ORDER BY h.at DESC LIMIT 1
               ), r.starts) AS since_at,
               CASE WHEN x.waiting > 0 THEN (
                   SELECT s.asked_at FROM limits.slot s
                   WHERE s.limit_id = x.id AND s.state = 'waiting' AND s.ended_at IS NULL AND s.number >= x.head_number
                   ORDER BY s.number LIMIT 1
               ) END AS oldest_asked_at
        FROM (SELECT limits.clock() AS now) n
        CROSS JOIN LATERAL (SELECT date_bin(%(step)s, n.now, 'epoch') - %(step)s * (%(count)s - 1) AS starts) r
        JOIN limits.limit x ON x.name = ANY (%(names)s)
        JOIN limits.history_mark m ON m.limit_id = x.id
    )
    SELECT l.name, l.busy AS now_busy, l.reserved AS now_reserved, l.waiting AS now_waiting, l.capacity AS now_capacity,
           l.changed_at, l.since, l.until, l.now, l.starts, l.oldest_asked_at, p.*
    FROM l LEFT JOIN LATERAL (
        SELECT date_bin(%(step)s, h.at, 'epoch') AS at,
               max(ARRAY[h.busy + h.reserved, h.busy, extract(epoch FROM h.at), h.capacity]::bigint[]) AS peak,
               max(h.waiting) AS waiting, sum(h.expired)::integer AS expired, sum(h.by_hand)::integer AS by_hand,
               max(h.longest_wait) AS longest_wait,
               max(ARRAY[extract(epoch FROM h.at), h.last_busy, h.last_reserved, h.last_waiting, h.last_capacity]::bigint[])
                   AS last
        FROM (
            SELECT x.* FROM limits.history x
            WHERE x.limit_id = l.id AND x.step = %(seconds)s AND x.at >= l.since_at
            UNION ALL
            SELECT x.* FROM limits.history x
            WHERE x.limit_id = l.id AND x.step = 60 AND x.at >= l.quarter AND %(seconds)s > 60
        ) h
        GROUP BY 1
    ) p ON true
    ORDER BY l.name, p.at
"""

_MARKERS: Final = """
    SELECT date_bin(%(step)s, c.at, 'epoch') AS at, c.kind, count(*) AS times
    FROM (
        SELECT x.at, 'capacity' AS kind FROM limits.capacity_changes(%(limit)s, %(starts)s) x WHERE x.before <> x.after
        UNION ALL
        SELECT x.at, x.kind FROM limits.change x
        WHERE x.limit_name = %(limit)s AND x.kind IN ('pause', 'resume') AND x.at >= %(starts)s
    ) c
    GROUP BY 1, 2
"""
_MARKED: Final = {"capacity": "edits", "pause": "pauses", "resume": "resumes"}


def history(limit: str, of: Range = RANGES["1h"], *, db: Database | None = None) -> History | None:
    """Return how a limit stood over a range of `RANGES`; none while nothing of it was written down yet."""
    database = db or default()
    rows = _rows([limit], of, database)
    if not rows:
        return None
    starts = rows[0]["starts"]
    marks = database.fetch(_MARKERS, {"limit": limit, "step": of.step, "starts": starts})
    return History(
        range=of,
        points=[_marked(point, marks) if point else None for point in _points(rows, of)],
        starts=starts,
        begins=rows[0]["since"],
        stopped=_stopped(rows[0]),
        longest_wait=_longest_wait(rows),
        now=rows[0]["now"],
    )


def sparklines(limits: Sequence[str], *, db: Database | None = None) -> dict[str, list[Spark | None]]:
    """Return how many slots were held over the last hour, by limit, in one read; none where nothing is known."""
    found = groupby(_rows(limits, _SPARK, db or default()), key=itemgetter("name"))
    return {
        name: [Spark(held=x.held, capacity=x.capacity) if x else None for x in _points(list(rows), _SPARK)]
        for name, rows in found
    }


def _rows(limits: Sequence[str], of: Range, database: Database) -> list[DictRow]:
    # Which rows tell of the range: those of minutes, or of quarters of an hour.
    seconds = 60 if of.step * of.count <= _MINUTES_KEPT else 900
    names = [name for name in limits if is_limit_name(name)]
    return database.fetch(_HISTORY, {"names": names, "step": of.step, "count": of.count, "seconds": seconds})


def _points(rows: Sequence[DictRow], of: Range) -> list[Point | None]:
    """Fill up the rows of what moved to one point a step: between two, a limit stands as it stood last."""
    starts = rows[0]["starts"]
    seen = {row["at"]: row for row in rows if row["at"] is not None}
    before = [row for at, row in seen.items() if at < starts]
    stood = before[-1] if before else None
    points = []
    for at in (starts + of.step * number for number in range(of.count)):
        row = seen.get(at)
        points.append(_point(at, row) if row else _still(at, stood or rows[0]))
        stood = row or stood
    points[-1] = _now(points[-1], rows[0], moved=points[-1].at in seen)
    return [None if _unknown(point.at, of.step, rows[0]) else point for point in points]


def _point(at: datetime, row: DictRow) -> Point:
    held, busy, _, capacity = row["peak"]
    return Point(
        at=at,
        busy=busy,
        reserved=held - busy,
        waiting=row["waiting"],
        capacity=capacity,
        expired=row["expired"],
        by_hand=row["by_hand"],
    )


def _still(at: datetime, row: DictRow) -> Point:
    # Before the first row nothing is known, and `_unknown` takes the point away.
    _, busy, reserved, waiting, capacity = row["last"] or (0, 0, 0, 0, row["now_capacity"])
    return Point(at=at, busy=busy, reserved=reserved, waiting=waiting, capacity=capacity)


def _now(point: Point, row: DictRow, *, moved: bool) -> Point:
    """Bring the last point up to the counters: its minutes, as far as written down, may have seen more."""
    present = replace(
        point,
        busy=row["now_busy"],
        reserved=row["now_reserved"],
        waiting=row["now_waiting"],
        capacity=row["now_capacity"],
    )
    if not moved:
        return present
    highest = max(present, point, key=lambda x: (x.held, x.busy))
    return replace(highest, waiting=max(point.waiting, present.waiting))


def _stopped(row: DictRow) -> datetime | None:
    late = row["now"] - row["until"] > _STOPPED_AFTER
    return row["until"] if late and row["changed_at"] >= row["until"] else None


def _unknown(at: datetime, step: timedelta, row: DictRow) -> bool:
    """Tell whether a step lies before the history begins, or after it stopped and before the counters of now."""
    stopped = _stopped(row)
    return at + step <= row["since"] or (stopped is not None and at >= stopped and at + step <= row["now"])


def _marked(point: Point, marks: Sequence[DictRow]) -> Point:
    found: dict[str, Any] = {_MARKED[mark["kind"]]: mark["times"] for mark in marks if mark["at"] == point.at}
    return replace(point, **found) if found else point


def _longest_wait(rows: Sequence[DictRow]) -> int | None:
    first = rows[0]
    ended = [row["longest_wait"] for row in rows if row["longest_wait"] is not None and row["at"] >= first["starts"]]
    asked = first["oldest_asked_at"]
    waits = [*ended, (first["now"] - asked) // timedelta(milliseconds=1)] if asked else ended
    return max(waits, default=None)
