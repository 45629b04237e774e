"""`stackbone worker`: the box's background work."""

import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from limits import engine, rules, sweep
from limits.engine import Swept
from limits.errors import BoxUnreachableError, NotMigratedError, WorkspaceMismatchError
from limits.pool import Database
from stackbone.cli.box import box_url, workspace_option
from stackbone.workspace import load

log = logging.getLogger("stackbone.worker")

RETRY_EVERY: Final = 2.0
"""Seconds between two attempts to reach a database that does not answer."""
KEEP_DAYS_MAX: Final = 36_500


@click.command(short_help="Run the box's background work.")
@workspace_option
@click.option("--sync/--no-sync", default=True, hidden=True, help="Declare the config's limits first.")
def worker(workspace: Path, sync: bool) -> None:
    """Run the box's background work until stopped: the sweep, and deleting what ended long ago.

    Declares the limits of stackbone_config.py first. Any number of workers may run side by side. Ended slots are
    kept for STACKBONE_RETENTION_DAYS (30). A database that is away is waited for.

    \b
    Example:
      STACKBONE_DATABASE_URL=postgresql://box@db/box stackbone worker
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    keep_days = _retention_days()
    declared = load(workspace) if sync else None
    database = Database(box_url(workspace), application_name="stackbone worker")
    if declared is not None:
        _declare(declared.name, declared.limits, database)
    _sweep_until_told(database, keep_days)
    database.close()


def _declare(name: str, limits: Mapping[str, engine.Declared], database: Database) -> None:
    waited = False
    while True:
        try:
            engine.declare(name, limits, db=database)
        except BoxUnreachableError as error:
            if not waited:
                log.warning("waiting: %s", error)
            waited = True
            time.sleep(RETRY_EVERY)
        except (NotMigratedError, WorkspaceMismatchError) as error:
            raise click.ClickException(str(error)) from error
        else:
            return


def _sweep_until_told(database: Database, keep_days: int) -> None:
    # Blocked before the thread starts, so that none but sigwait ever takes them.
    signs = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signs)
    stop = threading.Event()
    sweeper = threading.Thread(
        target=sweep.run, args=(database, stop), kwargs={"on_pass": _tell, "keep_days": keep_days}, name="sweep"
    )
    sweeper.start()
    log.info("worker %s is ready", os.getpid())
    sign = signal.sigwait(signs)
    log.info("%s: stopping", signal.Signals(sign).name)
    # The pass that runs may end; whoever asks again does not wait for it.
    for each in signs:
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signs)
    stop.set()
    sweeper.join()


def _tell(swept: Swept) -> None:
    moved = {
        "expired": swept.expired,
        "missed their reservation": swept.lapsed,
        "timed out": swept.timed_out,
        "withdrawn": swept.withdrawn,
        "granted": swept.granted,
    }
    log.info("swept: %s", ", ".join(f"{count} {what}" for what, count in moved.items() if count))


def _retention_days() -> int:
    given = os.environ.get("STACKBONE_RETENTION_DAYS", str(rules.RETENTION_DAYS))
    if not (given.isascii() and given.isdigit() and len(given) < 6 and 1 <= int(given) <= KEEP_DAYS_MAX):
        raise click.UsageError(
            f"STACKBONE_RETENTION_DAYS: must be a whole number of days, 1 to {KEEP_DAYS_MAX}, got {given!r}"
        )
    return int(given)
