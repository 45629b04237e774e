"""`stackbone limits`: see and operate the limits of a box."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import click

from limits import durations, engine, names, queries
from limits.engine import Actor, Edited
from limits.errors import UnknownLimitError
from limits.pool import Database
from limits.queries import LimitState, SlotRow, Start
from limits.quoting import quoted
from stackbone.cli import wording
from stackbone.cli.asking import confirmed, need_terminal
from stackbone.cli.box import actor_name, box_command
from stackbone.cli.output import complain, print_table, write_json, write_pieces
from stackbone.wire import limit_json, slot_json

_MEASURED: Final = 100


class _LimitCommand(click.Command):
    """A command that takes `-5` for a limit's name, or for a value to be refused by name; never for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            return super().parse_args(ctx, args)
        followed = {name for option in self.params if not getattr(option, "is_flag", True) for name in option.opts}
        options, values = [], []
        rest = iter(args)
        for arg in rest:
            if re.match(r"-[^0-9.]", arg):
                options.append(arg)
                options.extend(islice(rest, 1) if arg in followed else [])
            else:
                values.append(arg)
        return super().parse_args(ctx, [*options, "--", *values])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def limits() -> None:
    """See and operate the limits of a box.

    \b
    Examples:
      stackbone limits list
      stackbone limits slots voice-calls
      stackbone limits capacity voice-calls 30 --reason "two more lines"
    """


def _changing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the reason that a change may give."""
    return click.option(
        "--reason",
        metavar="TEXT",
        callback=lambda context, option, text: (text or "").strip() or None,
        help="Why; kept in the record of changes.",
    )(command)


@limits.command("list")
@box_command
def list_(*, db: Database, as_json: bool) -> None:
    """List every limit: slots busy (+ reserved) of its capacity, runs waiting, max hold, and how it stands.

    \b
    Examples:
      stackbone limits list
      stackbone limits list --json | jq '.[] | select(.waiting > 0).name'
    """
    states = queries.limits(db=db)
    if as_json:
        write_json([limit_json(state) for state in states])
    elif not states:
        click.echo("No limits yet. Limits are declared in stackbone_config.py.")
    else:
        rows = [wording.limit_row(state) for state in states]
        print_table(wording.LIMIT_HEADINGS, wording.LIMIT_RIGHT, iter(rows), measured=len(rows))


@limits.command(cls=_LimitCommand)
@click.argument("limit")
@box_command
def slots(*, db: Database, limit: str, as_json: bool) -> None:
    """Show the slots of LIMIT: busy first, then reserved, then the queue in order.

    FOR is how long a slot has been held, or its run has waited; LEFT how long until it expires, or its reservation
    lapses. STARTS BY is the latest time at which a waiting run starts, if nobody releases earlier and the capacity
    stays; TIMES OUT how long it waits yet. A long list is read in pages while the limit lives on.

    \b
    Examples:
      stackbone limits slots voice-calls
      stackbone limits slots voice-calls --json | jq -r '.slots[] | select(.state == "busy").id'
    """
    state = _known(limit, db)
    rows = _slots(state, db)
    if as_json:
        write_pieces(_json_pieces(state, rows))
        return
    click.echo(wording.summary(state))
    click.echo(wording.standing(state, queries.next_move(state, db=db)))
    lines = (wording.slot_row(slot, start, state.now) for slot, start in rows)
    print_table(wording.SLOT_HEADINGS, wording.SLOT_RIGHT, lines, measured=_MEASURED, widest=wording.widest_row(state))


@limits.command()
@click.argument("slot_id", metavar="SLOTID")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_changing
@box_command
def release(*, db: Database, slot_id: str, yes: bool, reason: str | None, as_json: bool) -> int:
    """Give the busy slot SLOTID back, for one whose release was lost. It stops no work.

    A terminal is asked first; a script says --yes.

    \b
    Examples:
      stackbone limits release 019ad4b2-0c4e-7d3a-9f62-2f1e6a1b7c55
      stackbone limits release 019ad4b2-0c4e-7d3a-9f62-2f1e6a1b7c55 --yes --reason "call ended at the provider"
    """
    if not yes:
        need_terminal("nothing was released")
        slot = queries.slot(slot_id, db=db)
        if slot is None or slot.state != "busy":
            return _not_released(slot_id, slot.state if slot else None, db=db, as_json=as_json)
        # The question may stand for hours.
        db.close()
        if not confirmed(f"Release {wording.naming(slot)}? This does not stop the work it was taken for."):
            complain("nothing was released")
            return 1
    answer = engine.release(slot_id, actor=_actor(), reason=reason, db=db)
    if not answer.released or answer.limit is None:
        return _not_released(slot_id, answer.state, db=db, as_json=as_json)
    if as_json:
        write_json({"released": True})
    else:
        effect = wording.effect(_known(answer.limit, db), answer.granted)
        click.echo(f"Released slot {slot_id} of {answer.limit}. {effect}".rstrip())
    return 0


@limits.command(cls=_LimitCommand)
@click.argument("limit")
@click.argument("value", metavar="N|reset")
@_changing
@box_command
def capacity(*, db: Database, limit: str, value: str, reason: str | None, as_json: bool) -> None:
    """Override the capacity of LIMIT with N, or follow the config again with `reset`.

    Raising it starts waiting runs at once. Lowering it takes nothing back. A deploy does not clear an override.

    \b
    Examples:
      stackbone limits capacity voice-calls 30
      stackbone limits capacity voice-calls reset
    """
    if value.strip() == "reset":
        edited = engine.reset(limit, "capacity", actor=_actor(), reason=reason, db=db)
    else:
        number = names.parse_capacity(value, where=f"{limit}.capacity")
        edited = engine.edit(limit, capacity=number, actor=_actor(), reason=reason, db=db)
    _report_setting(limit, "capacity", edited, reset=value.strip() == "reset", db=db, as_json=as_json)


@limits.command("max-hold", cls=_LimitCommand)
@click.argument("limit")
@click.argument("value", metavar="DURATION|reset")
@_changing
@box_command
def max_hold(*, db: Database, limit: str, value: str, reason: str | None, as_json: bool) -> None:
    """Override the max hold of LIMIT with a DURATION like 45m or 1h30m, or follow the config again with `reset`.

    It counts for slots granted from now on; those held keep their expiry.

    \b
    Examples:
      stackbone limits max-hold voice-calls 1h30m
      stackbone limits max-hold voice-calls reset
    """
    if value.strip() == "reset":
        edited = engine.reset(limit, "max_hold", actor=_actor(), reason=reason, db=db)
    else:
        milliseconds = durations.parse_max_hold(value.strip(), where=f"{limit}.max_hold")
        edited = engine.edit(limit, max_hold=milliseconds, actor=_actor(), reason=reason, db=db)
    _report_setting(limit, "max_hold", edited, reset=value.strip() == "reset", db=db, as_json=as_json)


@limits.command(cls=_LimitCommand)
@click.argument("limit")
@_changing
@box_command
def pause(*, db: Database, limit: str, reason: str | None, as_json: bool) -> None:
    """Stop handing out slots of LIMIT. Busy slots go on, the queue keeps its order, timeouts run on.

    \b
    Example:
      stackbone limits pause partner-api --reason "the partner is down"
    """
    _report_pause(limit, engine.pause(limit, actor=_actor(), reason=reason, db=db), db=db, as_json=as_json)


@limits.command(cls=_LimitCommand)
@click.argument("limit")
@_changing
@box_command
def resume(*, db: Database, limit: str, reason: str | None, as_json: bool) -> None:
    """Hand out slots of LIMIT again, at once to whoever waits.

    \b
    Example:
      stackbone limits resume partner-api
    """
    _report_pause(limit, engine.resume(limit, actor=_actor(), reason=reason, db=db), db=db, as_json=as_json)


def _known(limit: str, db: Database) -> LimitState:
    state = queries.limit(limit, db=db) if names.is_limit_name(limit) else None
    if state is None:
        raise UnknownLimitError(limit, queries.near_names(limit, db=db))
    return state


def _actor() -> Actor:
    return Actor(name=actor_name(), source="cli")


def _slots(state: LimitState, db: Database) -> Iterator[tuple[SlotRow, Start | None]]:
    for held in ("busy", "reserved"):
        for slot in queries.every(state.name, state=held, db=db):
            yield slot, None
    yield from queries.queue(state, db=db)


def _json_pieces(state: LimitState, rows: Iterator[tuple[SlotRow, Start | None]]) -> Iterator[str]:
    # A queue may be longer than memory.
    yield f'{{"limit": {json.dumps(limit_json(state))}, "slots": ['
    for index, (slot, start) in enumerate(rows):
        yield (", " if index else "") + json.dumps(slot_json(slot, start))
    yield "]}\n"


def _not_released(slot_id: str, state: str | None, *, db: Database, as_json: bool) -> int:
    if as_json:
        write_json({"released": False})
    if state is None:
        complain(f"no slot {quoted(slot_id)} is known in this box; nothing was released")
        return 1
    if state in ("waiting", "reserved"):
        complain(f"slot {slot_id} is not busy but {state}; nothing was released")
        return 1
    slot = queries.slot(slot_id, db=db)
    if not as_json and slot is not None:
        click.echo(f"Nothing changed: slot {slot_id} had already ended ({wording.ended(slot)}).")
    return 0


def _report_setting(limit: str, field: str, edited: Edited, *, reset: bool, db: Database, as_json: bool) -> None:
    state = _known(limit, db)
    now = wording.setting(state, field)
    if not edited.changed:
        why = "there is no override to reset" if reset else "that is the override already"
        now = f"Nothing changed: {why}. {now}"
    _report(state, now, edited, as_json=as_json)


def _report_pause(limit: str, edited: Edited, *, db: Database, as_json: bool) -> None:
    state = _known(limit, db)
    now = wording.pause(state)
    _report(state, now if edited.changed else f"Nothing changed. {now}", edited, as_json=as_json)


def _report(state: LimitState, now: str, edited: Edited, *, as_json: bool) -> None:
    if as_json:
        write_json(limit_json(state))
    else:
        click.echo(f"{now} {wording.effect(state, edited.granted)}".rstrip())
