"""The port between workflows and what runs them durably. `dbos` is the runtime that comes along.

A runtime runs workflows so that a step that has ended is never run again, and tells the engine, by a function in the
database, whether a run is alive. The rest of us asks no more of it than this.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentRun:
    """The run that the calling code belongs to."""

    id: str
    workflow: str
    in_step: bool
    """Whether the call comes from inside a step of ours, or one of the runtime's own kind."""
    is_async: bool
    """Whether the workflow is an `async def`."""


class Runtime(Protocol):
    """What runs workflows durably in this process."""

    name: str
    """How the engine knows the runs that are of this runtime."""

    def current(self) -> CurrentRun | None:
        """Return the run that the caller is part of; none outside any workflow."""

    async def step[T](self, name: str, body: Callable[[int], Awaitable[T]]) -> T:
        """Run `body` as a step of the current run, shown as `name`, and record its result or its error.

        `body` gets the step's number in the run. A replay of a recorded step returns what was recorded.
        """

    def step_blocking[T](self, name: str, body: Callable[[int], T]) -> T:
        """As `step`, for a workflow that is a plain function."""

    def is_own_loop(self) -> bool:
        """Tell whether the running event loop is the one that workflows run on."""

    def wrap_workflow(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Register `function`, which takes one JSON value, as a workflow; calling what returns runs it as a child."""

    def wrap_step(self, name: str, function: Callable[..., Any], *, attempts: int, pause: float) -> Callable[..., Any]:
        """Make `function` a step, which is tried `attempts` times, the first pause `pause` seconds and then doubled."""
