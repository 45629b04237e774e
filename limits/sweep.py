"""The loop around `engine.sweep()`: a pass at the start, at each due time, and every 15 seconds."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

import psycopg

from limits import engine, rules
from limits.engine import Swept
from limits.errors import LimitsError
from limits.pool import Database

log = logging.getLogger(__name__)

PASS_EVERY: Final = rules.SWEEP_EVERY / 1_000
LOOK_EVERY: Final = 1.0
"""Seconds between two looks at the next due time, one cheap read."""
BREATH: Final = 0.05
RETRY_EVERY_AT_MOST: Final = 1.0


def run(
    db: Database,
    stop: threading.Event,
    *,
    nudge: threading.Event | None = None,
    on_pass: Callable[[Swept], None] | None = None,
    keep_days: int = rules.RETENTION_DAYS,
) -> None:
    """Sweep until `stop` is set; `on_pass` hears of each pass that moved something.

    `nudge` asks for a pass at once; whoever stops sets it too. Never raises: an outage is logged once, tried through with growing pauses, and its end logged too.
    Ended slots are deleted `keep_days` days later, one batch a pass.
    """
    failures = 0
    while not stop.is_set():
        try:
            swept = engine.sweep(db=db)
            # At once: what was done is told even if the rest of the pass fails.
            if swept and on_pass is not None:
                on_pass(swept)
            # Before anything is pruned: what history tells of it outlives it.
            engine.roll_up(db=db)
            engine.prune(keep_days=keep_days, db=db)
            if failures:
                log.warning("the sweep works again")
            failures = 0
            _wait_for_work(db, stop, nudge or stop)
        except Exception as error:
            _log_failure(error, first=not failures)
            stop.wait(min(RETRY_EVERY_AT_MOST, 0.1 * 2**failures))
            failures = min(failures + 1, 10)


def _wait_for_work(db: Database, stop: threading.Event, nudge: threading.Event) -> None:
    """Return when something is due, after 15 seconds at most, or when nudged or stopped."""
    pass_at = time.monotonic() + PASS_EVERY
    pause = BREATH
    while not nudge.wait(pause):
        due_in = engine.next_wake(db=db)
        pass_in = pass_at - time.monotonic()
        if pass_in <= 0 or due_in == 0:
            return
        pause = min(LOOK_EVERY, pass_in, LOOK_EVERY if due_in is None else due_in / 1_000)
    if not stop.is_set():
        nudge.clear()


def _log_failure(error: Exception, *, first: bool) -> None:
    if not isinstance(error, (LimitsError, psycopg.Error)):
        log.exception("a sweep failed; the next one follows")
    elif first:
        log.warning("the sweep stands still (%s); it tries again until the box is back", error)
