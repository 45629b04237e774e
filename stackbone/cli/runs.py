"""`stackbone runs`: see the runs of a box, and cancel one."""

import json
from datetime import datetime, timedelta
from typing import Final

import click

from limits.durations import format_elapsed
from limits.engine import Actor
from limits.pool import Database
from stackbone import runs as reading
from stackbone.cli import wording
from stackbone.cli.asking import confirmed, need_terminal
from stackbone.cli.box import actor_name, box_command
from stackbone.cli.output import complain, escape, print_table, write_json
from stackbone.runs import Run, RunRow, Step, UnknownRunError
from stackbone.wire import run_json, run_row_json

_HEADINGS: Final = ("RUN", "STATUS", "CREATED", "TOOK", "WORKER", "WAITS FOR", "WORKFLOW")
_STEP_HEADINGS: Final = ("#", "STATUS", "STARTED", "TOOK", "STEP")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def runs() -> None:
    """See the runs of a box, and cancel one.

    \b
    Examples:
      stackbone runs list --waiting
      stackbone runs show 3f0c1d62-8a55-4c44-9a51-0d7a9a4f9a11
    """


@runs.command("list")
@click.option("--status", type=click.Choice(reading.STATUSES), help="Only runs in this status.")
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option("--waiting", is_flag=True, help="Only runs that wait for a slot.")
@click.option("--count", type=click.IntRange(1, 1_000), default=50, show_default=True, help="How many at most.")
@click.option("--after", metavar="CURSOR", help="Go on where the list before ended.")
@box_command
def list_(
    *,
    db: Database,
    status: str | None,
    workflow: str | None,
    waiting: bool,
    count: int,
    after: str | None,
    as_json: bool,
) -> None:
    """List runs, the newest first.

    \b
    Examples:
      stackbone runs list --status failed
      stackbone runs list --workflow place_call --waiting --json | jq -r '.[].id'
    """
    page = reading.runs(status=status, workflow=workflow, waiting=waiting, count=count, after=after, db=db)
    if as_json:
        write_json([run_row_json(row) for row in page.items])
    elif not page.items:
        click.echo(
            "No runs." if status or workflow or waiting or after else "No runs yet. Start one: stackbone trigger"
        )
    else:
        rows = [_row(row) for row in page.items]
        print_table(_HEADINGS, (3,), iter(rows), measured=len(rows))
        if page.next is not None:
            click.echo(f"More: --after {page.next}")


@runs.command()
@click.argument("run_id", metavar="RUNID")
@box_command
def show(*, db: Database, run_id: str, as_json: bool) -> None:
    """Show a run: its status, input, output or error, its steps, and the slots it holds or waits for.

    \b
    Examples:
      stackbone runs show 3f0c1d62-8a55-4c44-9a51-0d7a9a4f9a11
      stackbone runs show 3f0c1d62-8a55-4c44-9a51-0d7a9a4f9a11 --json | jq .status
    """
    run = reading.run(run_id, db=db)
    if run is None:
        raise UnknownRunError(run_id)
    if as_json:
        write_json(run_json(run))
        return
    for line in _told(run):
        click.echo(line)
    if run.steps:
        table = [_step(step) for step in run.steps]
        print_table(_STEP_HEADINGS, (0, 3), iter(table), measured=len(table))
    for step in run.steps:
        if step.slot is not None:
            click.echo(_place(step, run.now))


@runs.command()
@click.argument("run_id", metavar="RUNID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@box_command
def cancel(*, db: Database, run_id: str, yes: bool, as_json: bool) -> int:
    """Cancel a run: it leaves every queue at once, and takes no further step.

    Slots that it holds stay held, until somebody releases them or their max hold passes: what it started may still go
    on. A terminal is asked first; a script says --yes.

    \b
    Example:
      stackbone runs cancel 3f0c1d62-8a55-4c44-9a51-0d7a9a4f9a11 --yes
    """
    if not yes:
        need_terminal("nothing was cancelled")
        run = reading.run(run_id, db=db)
        if run is None:
            raise UnknownRunError(run_id)
        db.close()
        if not confirmed(f"Cancel run {escape(run_id)} of {escape(run.row.workflow)}? Slots it holds stay held."):
            complain("nothing was cancelled")
            return 1
    cancelled = reading.cancel(run_id, actor=Actor(name=actor_name(), source="cli"), db=db)
    if as_json:
        write_json({"cancelled": cancelled})
        return 0
    shown = reading.run(run_id, db=db)
    if not cancelled:
        status = shown.row.status if shown is not None else "gone"
        click.echo(f"Nothing changed: run {escape(run_id)} had already ended ({status}).")
        return 0
    click.echo(f"Cancelled run {escape(run_id)}.")
    for slot in shown.slots if shown is not None else ():
        if slot.state == "busy":
            click.echo(f"It still holds {wording.naming(slot)}: stackbone limits release {slot.id} --yes")
    return 0


def _row(row: RunRow) -> tuple[str, ...]:
    return (
        escape(row.id),
        "stranded" if row.stranded else row.status,
        _at(row.created_at),
        _took(row.started_at, row.ended_at),
        escape(row.worker or "-"),
        ", ".join(row.waits_for) or "-",
        escape(row.workflow),
    )


def _told(run: Run) -> list[str]:
    row = run.row
    lines = [
        f"Run       {escape(row.id)}",
        f"Workflow  {escape(row.workflow)}",
        f"Status    {row.status}",
        f"Created   {_at(row.created_at)}",
    ]
    if row.stranded:
        lines.append(
            f"Stranded: no live worker knows the workflow {escape(repr(row.workflow))}; it waits until one does"
        )
    if row.ended_at is not None:
        lines.append(f"Ended     {_at(row.ended_at)}")
    if run.forked_from:
        lines.append(f"Fork of   {escape(run.forked_from)}")
    lines.append(f"Input     {json.dumps(run.input)}")
    if row.status == "completed":
        lines.append(f"Output    {json.dumps(run.output)}")
    if run.error:
        lines.append(f"Error     {_line(run.error)}")
    lines += [f"Holds     {wording.naming(slot)}" for slot in run.slots if slot.state == "busy"]
    return lines


def _step(step: Step) -> tuple[str, ...]:
    error = f": {_line(step.error)}" if step.error else ""
    return (
        str(step.number),
        step.status,
        _at(step.started_at),
        _took(step.started_at, step.ended_at),
        escape(step.name) + error,
    )


def _place(step: Step, now: datetime) -> str:
    slot = step.slot
    assert slot is not None
    if slot.state == "reserved":
        return (
            f"{escape(step.name)}: a slot is reserved for it, to be confirmed within {_left(slot.reserved_until, now)}"
        )
    ahead = ", ".join(escape(each.run_id or each.label or each.id) for each in step.ahead)
    before = f", behind {ahead}" if ahead else ", next in line"
    start = f" {wording.start(step.start, now)}" if step.start is not None else ""
    left = _left(slot.times_out_at, now)
    return f"{escape(step.name)}: position {slot.position}{before}; times out in {left}.{start}"


def _line(text: str) -> str:
    return escape(" ".join(text.splitlines()))


def _at(at: datetime | None) -> str:
    return "-" if at is None else at.strftime("%Y-%m-%d %H:%M:%S")


def _took(started: datetime | None, ended: datetime | None) -> str:
    if started is None or ended is None:
        return "-"
    return format_elapsed(max(0, (ended - started) // timedelta(milliseconds=1)))


def _left(until: datetime | None, now: datetime) -> str:
    return "-" if until is None else format_elapsed(max(0, (until - now) // timedelta(milliseconds=1)))
