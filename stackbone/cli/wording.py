"""How limits and slots read in a shell: rows of tables, and sentences. Text from outside is escaped here."""

from datetime import datetime, timedelta
from typing import Final

from limits import wording
from limits.durations import format_elapsed, format_setting
from limits.queries import LimitState, Setting, SlotRow, Start
from limits.wording import Given, Sentence, Value, clock, grouped
from stackbone.cli.output import escape

LIMIT_HEADINGS: Final = ("LIMIT", "BUSY", "WAITING", "OLDEST WAIT", "MAX HOLD", "STATE", "VALUES FROM")
LIMIT_RIGHT: Final = (1, 2, 3, 4)
# Text of any length stands last, where it moves no other column.
SLOT_HEADINGS: Final = ("POSITION", "STATE", "SLOT", "FOR", "LEFT", "STARTS BY", "TIMES OUT", "RUN", "LABEL")
SLOT_RIGHT: Final = (0, 3, 4, 5, 6)
TOO_LATE: Final = "may time out first"

_ENDINGS: Final = {"released": "released", "expired": "taken back at max hold"}


def limit_row(state: LimitState) -> tuple[str, ...]:
    """Return the cells of a limit, in the order of `LIMIT_HEADINGS`."""
    return (
        state.name,
        f"{state.busy:,}{f' +{state.reserved:,}' if state.reserved else ''} / {state.capacity.effective:,}",
        f"{state.waiting:,}",
        _ago(state.oldest_asked_at, state.now),
        format_setting(state.max_hold.effective),
        health(state),
        _sources(state),
    )


def slot_row(slot: SlotRow, start: Start | None, now: datetime) -> tuple[str, ...]:
    """Return the cells of a live slot, in the order of `SLOT_HEADINGS`; `start` is that of a waiting one."""
    ends = {"busy": slot.expires_at, "reserved": slot.reserved_until}.get(slot.state)
    return (
        f"{slot.position:,}" if slot.position else "-",
        slot.state,
        slot.id,
        _ago(slot.granted_at or slot.asked_at, now),
        _left(ends, now),
        _starts_by(start, now),
        _left(slot.times_out_at if slot.state == "waiting" else None, now),
        escape(slot.run_id or "-"),
        escape(slot.label or "-"),
    )


def widest_row(state: LimitState) -> tuple[str, ...]:
    """Return cells as wide as those may be that come late in a long list, so that its columns stay where they are."""
    if not state.waiting:
        return ("",) * len(SLOT_HEADINGS)
    return (f"{state.waiting:,}", "reserved", "", "59m 59s", "59m 59s", TOO_LATE, "59m 59s", "", "")


def health(state: LimitState) -> str:
    """Return how a limit stands in a word or two."""
    return _said([wording.health(state)], state.now)


def standing(state: LimitState, next_expiry: datetime | None) -> str:
    """Return why the queue of a limit stands, or how free it is; `next_expiry` as `queries.next_move` returns it."""
    return _said([*wording.standing(state, next_expiry), *wording.overdue(state)], state.now)


def start(found: Start, now: datetime) -> str:
    """Return by when a waiting run starts at the latest, or why nobody can tell."""
    return _said(wording.start(found), now)


def summary(state: LimitState) -> str:
    """Return a limit in one line: what is held, who waits, and its settings."""
    reserved = f", {state.reserved:,} reserved" if state.reserved else ""
    return (
        f"{state.name}: {state.busy:,} busy{reserved} of {state.capacity.effective:,}; {state.waiting:,} waiting;"
        f" max hold {format_setting(state.max_hold.effective)}; values {_sources(state)}. {health(state)}."
    )


def setting(state: LimitState, field: str) -> str:
    """Return where the "capacity" or the "max_hold" of a limit stands, and where that value comes from."""
    if field == "capacity":
        return f"Capacity of {state.name} is now {_capacity(state.capacity)}."
    return f"Max hold of {state.name} is now {_max_hold(state.max_hold)}, for slots granted from now on."


def pause(state: LimitState) -> str:
    """Return whether a limit hands out slots; if not, who stopped it and why."""
    if state.pause is None:
        return f"{state.name} hands out slots."
    reason = f" ({escape(state.pause.reason)})" if state.pause.reason else ""
    return f"{state.name} is paused by {escape(state.pause.by)}{reason}: no slot is handed out."


def effect(state: LimitState, granted: int) -> str:
    """Return what a change did to the queue, and what the limit still waits for; empty where nobody waited."""
    said = []
    if granted:
        said.append(f"{_counted(granted)} started.")
    if state.waiting:
        waiting = f"{state.waiting:,}" if granted else _counted(state.waiting)
        said.append(f"{waiting} still {'waits' if state.waiting == 1 else 'wait'}.")
    if state.over:
        said.append(f"Nothing is taken back: {state.held:,} are held, {state.over:,} over.")
    return " ".join(said)


def naming(slot: SlotRow) -> str:
    """Return what a person recognises a slot by."""
    label = f", label {escape(slot.label)}" if slot.label else ""
    run = f", run {escape(slot.run_id)}" if slot.run_id else ""
    return f"slot {slot.id} of {slot.limit}{label}{run}"


def ended(slot: SlotRow) -> str:
    """Return how a slot ended."""
    by = f" by {escape(slot.ended_by)}" if slot.ended_by and slot.state == "released" else ""
    return f"{_ENDINGS.get(slot.state, slot.state.replace('_', ' '))}{by}"


def _counted(runs: int) -> str:
    return f"{runs:,} waiting {'run' if runs == 1 else 'runs'}"


def _sources(state: LimitState) -> str:
    overrides = []
    if state.capacity.override is not None:
        overrides.append(f"capacity (declared {state.capacity.declared:,})")
    if state.max_hold.override is not None:
        overrides.append(f"max hold (declared {format_setting(state.max_hold.declared)})")
    return f"override: {', '.join(overrides)}" if overrides else "declared"


def _capacity(value: Setting) -> str:
    return f"{value.effective:,} ({_origin(value, f'{value.declared:,}')})"


def _max_hold(value: Setting) -> str:
    return f"{format_setting(value.effective)} ({_origin(value, format_setting(value.declared))})"


def _origin(value: Setting, declared: str) -> str:
    return "declared" if value.override is None else f"override; declared {declared}"


def _ago(since: datetime | None, now: datetime) -> str:
    return "-" if since is None else format_elapsed((now - since) // timedelta(milliseconds=1))


def _starts_by(start: Start | None, now: datetime) -> str:
    if start is None or start.by is None:
        return "-"
    return TOO_LATE if start.too_late else clock(start.by, now=now)


def _said(sentences: list[Sentence], now: datetime) -> str:
    return " ".join(
        each.english % {name: _written(value, now) for name, value in each.values.items()} for each in sentences
    )


def _written(value: Value, now: datetime) -> str:
    match value:
        case datetime():
            return clock(value, now=now)
        case int():
            return grouped(value)
        case Given():
            return escape(value)
        case _:
            return value


def _left(until: datetime | None, now: datetime) -> str:
    if until is None:
        return "-"
    return "due" if until <= now else format_elapsed((until - now) // timedelta(milliseconds=1))
