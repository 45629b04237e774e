"""What engine calls take and answer: values without a life of their own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who changes something, and through which door: studio, cli, api (people); client, workflow, system."""

    name: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A limit as the config declares it: capacity in slots, max hold in milliseconds."""

    capacity: int
    max_hold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow that a worker has the code of."""

    name: str
    input_schema: Mapping[str, Any]
    """JSON Schema of its input."""
    description: str
    """Its docstring's first paragraph; may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What `declare` did: names of limits, and how many waiters were granted."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    granted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A slot as its asker sees it, the answer of `request` and `confirm`."""

    slot_id: str | None
    """None only in the states `no_slot`, `run_ended` and `unknown`."""
    state: str
    """busy, waiting, reserved, released, expired, timed_out, withdrawn; no_slot (timeout 0, none free); run_ended (the
    run that asks has ended); unknown."""
    position: int | None = None
    """Place in the queue, from 1; only in the answer to a request that has just queued."""
    wait_left: int | None = None
    """Milliseconds until the wait times out, 0 if that is past; not in the states `no_slot` and `unknown`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The answer of `release`."""

    released: bool
    state: str | None
    """The slot's state after the call; none for an id never known."""
    limit: str | None
    granted: int
    """How many waiting runs were granted a slot by the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """The answer of `edit`, `reset`, `pause` and `resume`."""

    changed: bool
    granted: int
    """How many waiting runs were granted a slot by the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """How many slots one pass moved, over all limits."""

    expired: int = 0
    lapsed: int = 0
    timed_out: int = 0
    withdrawn: int = 0
    granted: int = 0

    def __bool__(self) -> bool:
        """Tell whether the pass moved anything."""
        return bool(self.expired or self.lapsed or self.timed_out or self.withdrawn or self.granted)
