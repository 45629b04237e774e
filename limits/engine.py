"""Every change to limits and slots. Each function is one SQL call, which is one transaction of its own.

(contract; bodies follow)
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who changes something, and through which door: studio, cli, api, client, workflow, system."""

    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A limit as the config declares it; max hold in milliseconds."""

    capacity: int
    max_hold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    added: list[str]
    changed: list[str]
    removed: list[str]
    granted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A slot as its asker sees it, the answer of `request` and `confirm`."""

    slot_id: str | None
    """None only in state `no_slot`."""
    state: str
    """busy, waiting, reserved; released, expired, timed_out, withdrawn; no_slot (timeout 0, none free); unknown."""
    position: int | None
    wait_left: int | None
    """Milliseconds until the wait times out; only while waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    released: bool
    state: str | None
    """The slot's state after the call; none for an id never known."""
    limit: str | None
    granted: int
    """How many waiting runs got a slot by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    changed: bool
    granted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What one pass did, over all limits."""

    expired: int
    lapsed: int
    timed_out: int
    withdrawn: int
    granted: int
    failed: int
    next_due_at: datetime | None


# All take a keyword `db: Database | None = None` (limits.pool); None means the process's default.
# def declare(workspace: str, limits: Mapping[str, Declared]) -> Synced         (WorkspaceMismatchError)
# def request(limit, *, key, label=None, timeout=TIMEOUT_DEFAULT, run_id=None, workflow=None, process_id=None) -> Asked
#       (UnknownLimitError, InvalidValueError)
# def confirm(slot_id) -> Asked
# def release(slot_id, *, actor, reason=None, key=None) -> Released             (never raises for odd ids)
# def withdraw(slot_id, *, actor, reason=None) -> bool                          (waiting or reserved only)
# def abandon(limit, key, *, actor) -> str | None    whatever the call `key` holds or waits for is given back; its former state
# def edit(limit, *, actor, capacity=None, expected_capacity=None, max_hold=None, expected_max_hold=None, reason=None) -> Edited
#       (UnknownLimitError, InvalidValueError, ChangedMeanwhileError); both fields or neither
# def reset(limit, field, *, actor, expected=None, reason=None) -> Edited       field "capacity" | "max_hold"
# def pause(limit, *, actor, reason=None) -> Edited ; def resume(limit, *, actor, reason=None) -> Edited
# def sweep() -> Swept
# def prune(*, keep_days=RETENTION_DAYS, batch=1000) -> int
# def join(kind, *, name) -> int      a process row ("client" | "worker"); its id is the key of the session lock that proves it alive
# def check() -> list[str]            broken invariants, each a sentence; empty when all is well
