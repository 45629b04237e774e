"""`stackbone worker`: the box's background work."""

import logging
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from limits import engine, names, rules
from limits.engine import Swept
from limits.errors import (
    BoxUnreachableError,
    IdentityTakenError,
    InvalidValueError,
    NotMigratedError,
    WorkspaceMismatchError,
)
from limits.pool import Database
from stackbone import workflows
from stackbone.cli.box import box_url, workspace_option
from stackbone.worker import Plan, run
from stackbone.workspace import ConfigError, load

log = logging.getLogger("stackbone.worker")

RETRY_EVERY: Final = 2.0
"""Seconds between two attempts to reach a database that does not answer."""
KEEP_DAYS_MAX: Final = 36_500


@click.command(short_help="Run the box's background work.")
@workspace_option
@click.option("--name", metavar="NAME", help="The worker's identity; the next free number if not given.")
@click.option("--sync/--no-sync", default=True, hidden=True, help="Declare the config's limits first.")
@click.option("--tolerant", is_flag=True, hidden=True, help="Run what can be imported, whatever else can't.")
def worker(workspace: Path, name: str | None, sync: bool, tolerant: bool) -> None:
    """Run the workspace's workflows and the box's background work until stopped.

    Declares the limits of stackbone_config.py first, and imports the files of workflows/ (or those that the config
    lists). Any number of workers may run side by side, each under an identity of its own: a restart under the same
    name goes on with its runs at once, and another worker takes them over a minute after it has gone. Ended slots are
    kept for STACKBONE_RETENTION_DAYS (30). A database that is away is waited for. SIGTERM lets short runs end, for a
    few seconds; all others go on at the next start.

    \b
    Examples:
      STACKBONE_DATABASE_URL=postgresql://box@db/box stackbone worker
      stackbone worker --name blue --workspace /srv/calls
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    keep_days = _retention_days()
    _check_name(name)
    declared = load(workspace)
    faults = workflows.find(workspace, declared.workflows or ())
    if faults and not tolerant:
        raise ConfigError(faults)
    for fault in faults:
        log.error("not loaded: %s", fault)
    database = Database(box_url(workspace), application_name="stackbone worker")
    if sync:
        _declare(declared.name, declared.limits, database)
    plan = Plan(database=database, name=name, workflows=workflows.registered(), keep_days=keep_days, on_pass=_tell)
    try:
        sys.exit(run(plan))
    except (NotMigratedError, IdentityTakenError) as error:
        raise click.ClickException(str(error)) from error


def _check_name(name: str | None) -> None:
    try:
        names.check_id(name, where="--name")
    except InvalidValueError as error:
        raise click.UsageError(str(error)) from error


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
