"""Reads about runs: their slots, who stands before them, and the workflows that workers know."""

import difflib
from collections.abc import Sequence
from typing import Final

from limits.pool import Database, default
from limits.queries.of_slots import _SLOT
from limits.queries.values import SlotRow, Workflow

# A live waiting slot's place, counted along the queue's index.
_PLACED: Final = _SLOT.replace(
    "NULL::bigint AS position",
    """CASE WHEN s.state = 'waiting' THEN (
               SELECT count(*) FROM limits.slot w
               WHERE w.limit_id = s.limit_id AND w.state = 'waiting' AND w.ended_at IS NULL
                 AND w.number >= l.head_number AND w.number <= s.number
           ) END AS position""",
)


def slots_of_run(run_id: str, *, db: Database | None = None) -> list[SlotRow]:
    """Return every slot a run holds, held or waits for, in the order it asked; waiting ones with their position."""
    rows = (db or default()).fetch(_PLACED + " WHERE s.run_id = %s ORDER BY s.asked_at, s.number", [run_id])
    return [SlotRow(**row) for row in rows]


def held_by_run(limit: str, run_id: str, *, db: Database | None = None) -> int:
    """Return how many slots of `limit` a run holds, busy ones only."""
    rows = (db or default()).fetch(
        """
        SELECT count(*) AS held FROM limits.slot s
        WHERE s.limit_id = (SELECT x.id FROM limits.limit x WHERE x.name = %s) AND s.run_id = %s
          AND s.state IS NOT DISTINCT FROM 'busy' AND s.ended_at IS NULL
        """,
        (limit, run_id),
    )
    held: int = rows[0]["held"]
    return held


def ahead(slot: SlotRow, *, count: int = 3, db: Database | None = None) -> list[SlotRow]:
    """Return who waits right before a waiting slot, the nearest first; nobody before any other."""
    if slot.state != "waiting":
        return []
    rows = (db or default()).fetch(
        _SLOT  # noqa: S608  (constants only)
        + """
        WHERE s.limit_id = (SELECT x.id FROM limits.limit x WHERE x.name = %(limit)s)
          AND s.state = 'waiting' AND s.ended_at IS NULL AND s.number < %(number)s
          AND s.number >= (SELECT x.head_number FROM limits.limit x WHERE x.name = %(limit)s)
        ORDER BY s.number DESC LIMIT %(count)s
        """,
        {"limit": slot.limit, "number": slot.number, "count": count},
    )
    return [SlotRow(**row) for row in rows]


def workflows(*, db: Database | None = None) -> list[Workflow]:
    """Return the workflows that workers know or knew, from A to Z, as the latest of their workers described them."""
    rows = (db or default()).fetch(
        """
        SELECT DISTINCT ON (k.name) k.name, k.input_schema, k.description,
               bool_or(w.present) OVER (PARTITION BY k.name) AS live
        FROM limits.known_workflow k
        JOIN (SELECT x.id, x.joined_at, limits.is_present(x.id) AS present
              FROM limits.worker x WHERE x.kind = 'worker') w ON w.id = k.worker_id
        ORDER BY k.name, w.present DESC, w.joined_at DESC
        """
    )
    return [Workflow(**row) for row in rows]


def near(name: str, known: Sequence[str]) -> list[str]:
    """Return those of the `known` names that look like `name`, the nearest first, at most three."""
    return difflib.get_close_matches(name[:200].lower(), known)
