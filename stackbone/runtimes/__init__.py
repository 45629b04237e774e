"""The port between workflows and what runs them durably. `dbos` is the runtime that comes along.

A runtime runs workflows so that a step that has ended is never run again, and tells the engine, by a function in the
database, whether a run is alive. The rest of us asks no more of it than this.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRun:
    """The run that the calling code belongs to."""

    id: str
    workflow: str
    is_async: bool
    """Whether the workflow is an `async def`."""
    in_step: bool


class Runtime(Protocol):
    """What runs workflows durably in this process."""

    name: str
    """How the engine knows the runs that are of this runtime."""

    def current(self) -> CurrentRun | None:
        """Return the run that the caller is part of; none outside any workflow."""

    def is_own_loop(self) -> bool:
        """Tell whether the running event loop is the one that workflows run on."""

    async def step[T](
        self, name: str, body: Callable[[int], Awaitable[T]], *, attempts: int = 1, pause: float = 1.0
    ) -> T:
        """Run `body` as a step of the current run, shown as `name`, and record its result or its error.

        `body` gets the step's number in the run. A replay of a recorded step returns what was recorded. A failed one
        is tried `attempts` times in all, `pause` seconds apart, each time twice as long.
        """

    def blocking_step[T](self, name: str, body: Callable[[int], T], *, attempts: int = 1, pause: float = 1.0) -> T:
        """As `step`, for a workflow that is a plain function."""

    async def run_child(self, workflow: str, given: object) -> object:
        """Run a workflow as a part of the current run, and return its output."""

    def blocking_run_child(self, workflow: str, given: object) -> object:
        """As `run_child`, for a workflow that is a plain function."""


_installed: Runtime | None = None


def install(runtime: Runtime | None) -> None:
    """Make `runtime` the one that this process's workflows run on."""
    global _installed
    _installed = runtime


def installed() -> Runtime | None:
    """Return the runtime of this process; none outside a worker."""
    return _installed
