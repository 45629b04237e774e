"""Fills a limit with slots at once, as if they had been asked for one by one."""

from typing import Final

from psycopg.rows import tuple_row

from limits.pool import Database

# Ids that a script can name: the limit's number and the slot's, in the shape of a UUID of version 7.
ID: Final = "('00000000-0000-7000-8000-' || lpad(to_hex({limit}), 4, '0') || lpad(to_hex({number}), 8, '0'))::uuid"

_INSERT: Final = f"""
    INSERT INTO limits.slot (
        id, limit_id, state, number, key, label, run_id, workflow,
        asked_at, times_out_at, granted_at, confirmed_at, expires_at
    )
    SELECT {ID.format(limit="l.id", number="l.last_number + n")}, l.id, %(state)s, l.last_number + n,
           'loaded-' || l.last_number + n, 'call-' || n, 'run-' || n, 'loaded', now, limits.after(now, 86400000 + n),
           CASE %(state)s WHEN 'busy' THEN now END,
           CASE %(state)s WHEN 'busy' THEN now END,
           CASE %(state)s WHEN 'busy' THEN limits.after(now, l.max_hold + n) END
    FROM limits.limit l, generate_series(1, %(count)s) n, limits.clock() now
    WHERE l.name = %(limit)s
"""  # noqa: S608  (constants only)

_COUNT: Final = """
    UPDATE limits.limit l SET
        busy = l.busy + CASE %(state)s WHEN 'busy' THEN %(count)s ELSE 0 END,
        waiting = l.waiting + CASE %(state)s WHEN 'waiting' THEN %(count)s ELSE 0 END,
        last_number = l.last_number + %(count)s,
        next_due_at = least(l.next_due_at, (
            SELECT min(s.due_at) FROM limits.slot s WHERE s.limit_id = l.id AND s.ended_at IS NULL
        ))
    WHERE l.name = %(limit)s
"""


def load(db: Database, limit: str, *, state: str, count: int, analyse: bool = True) -> None:
    """Add `count` slots in `state` ("busy" or "waiting") to `limit`, in one transaction, and analyse the table.

    Nobody checks the capacity; and waiting slots are right only where nothing is free.
    """
    values = {"limit": limit, "state": state, "count": count}
    with db.connect() as connection:
        with connection.transaction(), connection.cursor(row_factory=tuple_row) as cursor:
            cursor.execute("SELECT limits.lock_limit(l.id) FROM limits.limit l WHERE l.name = %(limit)s", values)
            cursor.execute(_INSERT, values)
            cursor.execute(_COUNT, values)
        if analyse:
            connection.execute("VACUUM ANALYZE limits.slot")
