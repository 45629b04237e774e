"""What the box does by itself, for `engine`: the sweep, the roll-up of history, the end of old slots."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, LiteralString

import psycopg
from psycopg.rows import DictRow

from limits import rules
from limits.answers import Swept
from limits.errors import BoxBusyError
from limits.pool import Database, default

log = logging.getLogger(__name__)

_SWEEP_BATCH: Final = 500
_ROLL_UP_BATCH: Final = 100_000


def sweep(*, db: Database | None = None) -> Swept:
    """Repair what nobody else did (F8): one pass over the limits that have something due.

    Safe side by side. Each limit is a transaction of its own, in bounded batches; one that fails is logged and
    passed over. Raises `BoxUnreachableError`.
    """
    total = dict.fromkeys(("expired", "lapsed", "timed_out", "withdrawn", "granted"), 0)
    for row in (db or default()).fetch("SELECT limits.begin_pass() AS id"):
        with _passed_over(f"limit number {row['id']}"):
            _sweep_limit(row["id"], total, db)
    for row in (db or default()).fetch("SELECT id, run_id FROM limits.ended_run ORDER BY id LIMIT %s", [_SWEEP_BATCH]):
        with _passed_over(f"ended run {row['run_id']}"):
            ended = _call("SELECT limits.withdraw_ended(%s) AS withdrawn", (row["id"],), db)
            total["withdrawn"] += ended["withdrawn"]
    _call("SELECT limits.end_pass()", (), db)
    return Swept(**total)


def next_wake(*, db: Database | None = None) -> int | None:
    """Return the milliseconds until a sweep has something to do; none if nothing will ever be due."""
    row = _call("SELECT limits.next_wake() AS wait", (), db)
    wait: int | None = row["wait"]
    return wait


def prune(*, keep_days: int = rules.RETENTION_DAYS, batch: int = 1_000, db: Database | None = None) -> int:
    """Delete slots that ended more than `keep_days` days ago, at most `batch`; return how many."""
    deleted: int = _call("SELECT limits.prune(%s, %s) AS deleted", (keep_days, batch), db)["deleted"]
    return deleted


def roll_up(*, batch: int = _ROLL_UP_BATCH, db: Database | None = None) -> bool:
    """Write down each limit's history up to this minute; about `batch` ended slots of a limit at most.

    Safe side by side, and idempotent. Return whether more is left, after a long time without a sweep.
    """
    left = False
    for row in (db or default()).fetch("SELECT limits.begin_roll_up() AS id"):
        with _passed_over(f"the history of limit number {row['id']}"):
            until = _call("SELECT limits.settled_until(%s) AS until", (row["id"],), db)["until"]
            more = _call("SELECT limits.roll_up(%s, %s, %s) AS more", (row["id"], until, batch), db)["more"]
            left = left or more
    return left


@contextmanager
def _passed_over(what: str) -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, BoxBusyError) as error:
        log.warning("%s is passed over by the sweep: %s", what, str(error).partition("\n")[0])


def _sweep_limit(limit_id: int, total: dict[str, int], db: Database | None) -> None:
    more = True
    while more:
        moved = _call(
            "SELECT expired, lapsed, timed_out, withdrawn, granted, more FROM limits.sweep_limit(%s, %s)",
            (limit_id, _SWEEP_BATCH),
            db,
        )
        more = moved.pop("more")
        for name, count in moved.items():
            total[name] += count


def _call(statement: LiteralString, parameters: tuple[Any, ...], db: Database | None) -> DictRow:
    return (db or default()).fetch(statement, parameters)[0]
