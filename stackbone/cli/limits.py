"""`stackbone limits`: see and operate the limits of a box."""

import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import wraps
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import click

from limits import durations, engine, names, queries
from limits.engine import Actor, Edited
from limits.errors import UnknownLimitError
from limits.pool import Database
from limits.queries import LimitState, Setting, SlotRow
from stackbone.cli.output import Table, actor_name, escape, open_box, workspace_option, write_json
from stackbone.wire import limit_json, slot_json

_PAGE: Final = 1_000


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def limits() -> None:
    """See and operate the limits of a box.

    \b
    Examples:
      stackbone limits list
      stackbone limits slots voice-calls
      stackbone limits release 019ad4b2-0c4e-7d3a-9f62-2f1e6a1b7c55 --yes
      stackbone limits capacity voice-calls 30
      stackbone limits max-hold voice-calls reset
    """


def _box_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every command takes, and pass the box's database as `db`."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
    @click.option("--agent", metavar="ID", help="Another installation than the one on this machine.")
    @workspace_option
    @wraps(command)
    def run(*, workspace: Path, agent: str | None, **arguments: Any) -> Any:
        if agent is not None:
            raise click.UsageError("--agent: only the box on this machine is known yet")
        db = open_box(workspace)
        try:
            return command(db=db, **arguments)
        finally:
            db.close()

    return run


def _changing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the reason that a change may give."""
    return click.option("--reason", help="Why; kept in the record of changes.")(command)


@limits.command("list")
@_box_command
def list_(*, db: Database, as_json: bool) -> None:
    """List every limit: busy and reserved slots of its capacity, runs waiting, max hold, and how it stands."""
    states = queries.limits(db=db)
    if as_json:
        write_json([limit_json(state) for state in states])
        return
    if not states:
        click.echo("No limits yet. Limits are declared in stackbone_config.py.")
        return
    rows = [_limit_row(state) for state in states]
    headings = ("LIMIT", "BUSY", "WAITING", "OLDEST WAIT", "MAX HOLD", "STATE", "OVERRIDE")
    table = Table(headings, rows, right=(1, 2, 3, 4))
    for row in rows:
        table.write(row)


@limits.command()
@click.argument("limit")
@_box_command
def slots(*, db: Database, limit: str, as_json: bool) -> None:
    """Show the slots of LIMIT: busy first, then reserved, then the queue in order."""
    state = _known(limit, db)
    rows = _slots(limit, db)
    if as_json:
        click.echo(f'{{"limit": {_json(limit_json(state))}, "slots": [', nl=False)
        for index, slot in enumerate(rows):
            click.echo((", " if index else "") + _json(slot_json(slot)), nl=False)
        click.echo("]}")
        return
    click.echo(_summary(state))
    lines = (_slot_row(slot, state.now) for slot in rows)
    first = list(islice(lines, _PAGE))
    if not first:
        click.echo("No slots.")
        return
    table = Table(("#", "STATE", "SLOT", "LABEL", "RUN", "SINCE", "LEFT"), first, right=(0, 5))
    for line in chain(first, lines):
        table.write(line)


@limits.command()
@click.argument("slot_id", metavar="SLOTID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_changing
@_box_command
def release(*, db: Database, slot_id: str, yes: bool, reason: str | None, as_json: bool) -> int:
    """Give the busy slot SLOTID back. Only for a release that got lost: this stops no work."""
    slot = queries.slot(slot_id, db=db)
    if slot is not None and slot.state == "busy" and not yes:
        _ask(slot)
    answer = engine.release(slot_id, actor=_actor(), reason=reason, db=db)
    if as_json:
        write_json({"released": answer.released})
    if answer.state is None:
        click.echo(f"Error: no slot {escape(slot_id[:80])} is known here", err=True)
        return 1
    if answer.state in ("waiting", "reserved"):
        click.echo(f"Error: slot {slot_id} is not busy but {answer.state}; nothing was released", err=True)
        return 1
    if not as_json:
        click.echo(_released(slot_id, answer, db))
    return 0


@limits.command()
@click.argument("limit")
@click.argument("value", metavar="N|reset")
@_changing
@_box_command
def capacity(*, db: Database, limit: str, value: str, reason: str | None, as_json: bool) -> None:
    """Override the capacity of LIMIT with N, or go back to the declared one with `reset`."""
    if value == "reset":
        edited = engine.reset(limit, "capacity", actor=_actor(), reason=reason, db=db)
    else:
        number = names.parse_capacity(value, where=f"{limit}.capacity")
        edited = engine.edit(limit, capacity=number, actor=_actor(), reason=reason, db=db)
    _report(limit, "capacity", edited, db=db, as_json=as_json)


@limits.command("max-hold")
@click.argument("limit")
@click.argument("value", metavar="DURATION|reset")
@_changing
@_box_command
def max_hold(*, db: Database, limit: str, value: str, reason: str | None, as_json: bool) -> None:
    """Override the max hold of LIMIT with a DURATION like 45m or 1h30m, or go back with `reset`.

    It counts for slots granted from now on.
    """
    if value == "reset":
        edited = engine.reset(limit, "max_hold", actor=_actor(), reason=reason, db=db)
    else:
        milliseconds = durations.parse_max_hold(value.strip(), where=f"{limit}.max_hold")
        edited = engine.edit(limit, max_hold=milliseconds, actor=_actor(), reason=reason, db=db)
    _report(limit, "max_hold", edited, db=db, as_json=as_json)


@limits.command()
@click.argument("limit")
@_changing
@_box_command
def pause(*, db: Database, limit: str, reason: str | None, as_json: bool) -> None:
    """Stop handing out slots of LIMIT. Busy slots go on, the queue keeps its order, timeouts run on."""
    _report(limit, "pause", engine.pause(limit, actor=_actor(), reason=reason, db=db), db=db, as_json=as_json)


@limits.command()
@click.argument("limit")
@_changing
@_box_command
def resume(*, db: Database, limit: str, reason: str | None, as_json: bool) -> None:
    """Hand out slots of LIMIT again, at once to whoever waits."""
    _report(limit, "pause", engine.resume(limit, actor=_actor(), reason=reason, db=db), db=db, as_json=as_json)


def _known(limit: str, db: Database) -> LimitState:
    state = queries.limit(limit, db=db) if names.is_limit_name(limit) else None
    if state is None:
        raise UnknownLimitError(limit, queries.near_names(limit, db=db))
    return state


def _actor() -> Actor:
    return Actor(name=actor_name(), source="cli")


def _slots(limit: str, db: Database) -> Iterator[SlotRow]:
    for state in ("busy", "reserved", "waiting"):
        after = None
        while True:
            page = queries.slots(limit, state=state, after=after, count=_PAGE, db=db)
            yield from page.items
            after = page.next
            if after is None:
                break


def _ask(slot: SlotRow) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(
            "this asks first and there is no terminal to ask at; say --yes to release without asking"
        )
    what = f"slot {slot.id} of {slot.limit}"
    if slot.label:
        what += f", label {escape(slot.label)}"
    click.echo(f"Release {what}? It does not stop the work that the slot was taken for.", err=True)
    answer = click.prompt("Release it? [y/N]", default="", show_default=False, prompt_suffix=" ", err=True)
    if answer.strip().lower() not in ("y", "yes"):
        raise click.ClickException("nothing was released")


def _released(slot_id: str, answer: engine.Released, db: Database) -> str:
    if answer.released:
        return f"Released {slot_id} of {answer.limit}. {_granted(answer.granted)}"
    slot = queries.slot(slot_id, db=db)
    how = "taken back at max hold" if answer.state == "expired" else (answer.state or "").replace("_", " ")
    by = f" by {escape(slot.ended_by)}" if slot and slot.ended_by and answer.state == "released" else ""
    return f"Nothing changed: slot {slot_id} had already ended ({how}{by})."


def _report(limit: str, field: str, edited: Edited, *, db: Database, as_json: bool) -> None:
    state = _known(limit, db)
    if as_json:
        write_json(limit_json(state))
        return
    if field == "capacity":
        now = f"Capacity of {limit} is {state.capacity.effective:,}, {_origin(state.capacity, f'{state.capacity.declared:,}')}."
    elif field == "max_hold":
        declared = durations.format_setting(state.max_hold.declared)
        effective = durations.format_setting(state.max_hold.effective)
        now = f"Max hold of {limit} is {effective} for new slots, {_origin(state.max_hold, declared)}."
    else:
        now = f"{limit} is {'paused: no slot is handed out' if state.paused else 'open: slots are handed out'}."
    click.echo(f"{now} {_granted(edited.granted)}" if edited.changed else f"Nothing changed. {now}")


def _origin(setting: Setting, declared: str) -> str:
    return "declared" if setting.override is None else f"override (declared {declared})"


def _granted(count: int) -> str:
    if count == 0:
        return "No run was waiting for it."
    return f"{count:,} waiting {'run gets a slot' if count == 1 else 'runs get a slot'} at once."


def _limit_row(state: LimitState) -> tuple[str, ...]:
    reserved = f" +{state.reserved:,}" if state.reserved else ""
    overrides = [
        name
        for name, setting in (("capacity", state.capacity), ("max hold", state.max_hold))
        if setting.override is not None
    ]
    return (
        state.name,
        f"{state.busy:,}{reserved} / {state.capacity.effective:,}",
        f"{state.waiting:,}",
        _elapsed(state.oldest_asked_at, state.now),
        durations.format_setting(state.max_hold.effective),
        _health(state),
        ", ".join(overrides) or "-",
    )


def _health(state: LimitState) -> str:
    return f"Over by {state.over:,}" if state.health is queries.Health.OVER else str(state.health)


def _summary(state: LimitState) -> str:
    reserved = f" and {state.reserved:,} reserved" if state.reserved else ""
    return (
        f"{state.name}: {state.busy:,} busy{reserved} of {state.capacity.effective:,}, {state.waiting:,} waiting,"
        f" max hold {durations.format_setting(state.max_hold.effective)}. {_health(state)}."
    )


def _slot_row(slot: SlotRow, now: datetime) -> tuple[str, ...]:
    ends = {"busy": slot.expires_at, "reserved": slot.reserved_until, "waiting": slot.times_out_at}[slot.state]
    return (
        str(slot.position or ""),
        slot.state,
        slot.id,
        escape(slot.label) if slot.label else "-",
        escape(slot.run_id) if slot.run_id else "-",
        _elapsed(slot.granted_at or slot.asked_at, now),
        _left(ends, now),
    )


def _elapsed(since: datetime | None, now: datetime) -> str:
    return "-" if since is None else durations.format_elapsed((now - since) // timedelta(milliseconds=1))


def _left(until: datetime | None, now: datetime) -> str:
    if until is None:
        return "-"
    return "due" if until <= now else durations.format_elapsed((until - now) // timedelta(milliseconds=1))


def _json(value: object) -> str:
    import json

    return json.dumps(value)
