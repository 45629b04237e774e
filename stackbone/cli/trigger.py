"""`stackbone trigger`: starts a run of a workflow."""

import json
import math
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from limits import names
from limits.errors import InvalidValueError
from limits.pool import Database
from limits.quoting import quoted
from stackbone import runs
from stackbone.cli.box import box_command
from stackbone.cli.output import escape, write_json

# Python reads no longer ones.
_DIGITS_MAX: Final = 4_300


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
    try:
        names.check_run_id(run_id, where="--id")
    except InvalidValueError as error:
        raise click.UsageError(str(error)) from error
    value = _parsed(_read(given)) if given is not None else None
    known = {each.name: each for each in runs.workflows(db=db)}
    if given is None and workflow in known and _takes_object(known[workflow].input_schema):
        value = {}
    started = runs.trigger(workflow, value, run_id=run_id, db=db)
    if as_json:
        write_json({"id": started})
    else:
        click.echo(escape(started))
    if not known[workflow].live:
        click.echo(f"No live worker knows {escape(workflow)}: the run waits until one does.", err=True)


def _takes_object(schema: dict[str, Any]) -> bool:
    # A model that holds others of its kind stands under $defs.
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    return "object" in (schema.get("type"), schema.get("$defs", {}).get(name, {}).get("type"))


def _read(given: str) -> str:
    try:
        if given == "-":
            raw = sys.stdin.buffer.read()
        elif given.startswith("@"):
            raw = Path(given[1:]).read_bytes()
        else:
            raw = given.encode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:
        raise click.UsageError(f"--input: can't read {given}: {error}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"--input: must be UTF-8 text, and is not at byte {error.start + 1:,}") from error


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_float, parse_int=_int)
    except ValueError as error:
        raise click.UsageError(f"--input: must be JSON: {error}") from error
    except RecursionError:
        raise click.UsageError("--input: is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {quoted(text)} is too large")
    return number


def _int(text: str) -> int:
    if len(text) > _DIGITS_MAX:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)
