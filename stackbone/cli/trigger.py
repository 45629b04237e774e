"""`stackbone trigger`: starts a run of a workflow."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from limits.pool import Database
from stackbone import runs
from stackbone.cli.box import box_command
from stackbone.cli.output import escape, write_json


@click.command(short_help="Start a run of a workflow.")
@click.argument("workflow")
@click.option("--input", "given", metavar="JSON", help="The input; @FILE reads a file, - standard input.")
@click.option("--id", "run_id", metavar="RUNID", help="The run's id; the same one again starts nothing.")
@box_command
def trigger(*, db: Database, workflow: str, given: str | None, run_id: str | None, as_json: bool) -> None:
    """Start a run of WORKFLOW and print its id. The input is checked first, against the workflow's schema.

    The run begins as soon as a worker takes it up; see it with `stackbone runs show`.

    \b
    Examples:
      stackbone trigger place_call --input '{"call_id": "call-17"}'
      stackbone trigger place_call --input @call.json --json
    """
    known = {each.name: each for each in runs.workflows(db=db)}
    value = _parsed(given)
    if given is None and workflow in known and known[workflow].input_schema.get("type") == "object":
        value = {}
    started = runs.trigger(workflow, value, run_id=run_id, db=db)
    if as_json:
        write_json({"id": started})
    else:
        click.echo(escape(started))
    if not known[workflow].live:
        click.echo(f"No live worker knows {escape(workflow)}: the run waits until one does.", err=True)


def _parsed(given: str | None) -> Any:
    if given is None:
        return None
    text = given
    try:
        if given == "-":
            text = sys.stdin.read()
        elif given.startswith("@"):
            text = Path(given[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--input: can't read {given}: {error}") from error
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise click.UsageError(f"--input: must be JSON: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
