"""What authors of workflows import: durable functions that take slots, wait in line for them, and give them back.

    @workflow
    async def place_call(input: PlaceCall) -> dict:
        slot = await acquire_slot("voice-calls", label=input.call_id, timeout="30m")
        await dial_out(input.call_id, slot.id)
        return {"slot_id": slot.id}

In a workflow that is a plain `def`, the same functions block and return their result itself; each one that waits then
costs a thread.
"""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from types import TracebackType
from typing import Any, Final, cast, overload

from limits import durations, engine, names, queries
from limits.engine import Actor
from limits.errors import LimitsError, SlotTimeoutError, UnknownLimitError
from stackbone import runtimes
from stackbone.client import Client, Released
from stackbone.runtimes import CurrentRun, Runtime
from stackbone.runtimes.naming import WAITING_STEP
from stackbone.waiting import Box, Call, RunEndedError
from stackbone.workflows import WorkflowFunction, register

__all__ = [
    "ForeignSlotError",
    "Released",
    "RunEndedError",
    "Slot",
    "SlotTimeoutError",
    "UnknownLimitError",
    "WrongPlaceError",
    "acquire_slot",
    "limit_slot",
    "release_slot",
    "step",
    "with_limit",
    "workflow",
]

RELEASE_STEP: Final = "release_slot"


class WrongPlaceError(LimitsError):
    """The call does not work where it stands."""


class ForeignSlotError(LimitsError):
    """The recorded slot is not this run's to use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot that the run holds. Its id is text that any process may release it by."""

    id: str
    limit: str
    label: str | None = None


_box: Box | None = None


def use(box: Box | None) -> None:
    """Let the workflows of this process take their slots from `box`; for the worker."""
    global _box
    _box = box


@overload
def workflow[F: Callable[..., Any]](function: F, /) -> WorkflowFunction: ...
@overload
def workflow[F: Callable[..., Any]](*, name: str | None = None) -> Callable[[F], WorkflowFunction]: ...
def workflow(function: Callable[..., Any] | None = None, /, *, name: str | None = None) -> Any:
    """Make a function a workflow, called like the function unless `name` says otherwise.

    It takes one input at most, of any type that pydantic can check, and returns what JSON can carry. Raises
    `TypeError` for other functions, and for a name that another workflow has.
    """
    if function is None:
        return partial(register, name=name)
    return register(function, name=name)


@overload
def step[F: Callable[..., Any]](function: F, /) -> F: ...
@overload
def step[F: Callable[..., Any]](*, attempts: int = 1, pause: float = 1.0) -> Callable[[F], F]: ...
def step(function: Callable[..., Any] | None = None, /, *, attempts: int = 1, pause: float = 1.0) -> Any:
    """Make a function a step: what it returned or raised is recorded, and it never runs again in that run.

    A process that dies inside it runs it again. One that fails is tried `attempts` times in all, first `pause` seconds
    apart, then twice as long each time. Outside a workflow, and in another step, it is the plain function.
    """
    if function is None:
        return partial(step, attempts=attempts, pause=pause)
    if attempts < 1 or pause < 0:
        raise ValueError(f"{function.__qualname__}: attempts must be at least 1 and pause at least 0")
    return _as_step(function, attempts, pause)


def _as_step(function: Callable[..., Any], attempts: int, pause: float) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def step_async(*args: Any, **kwargs: Any) -> Any:
            runtime = _runtime_of_step()
            if runtime is None:
                return await function(*args, **kwargs)
            return await runtime.step(
                function.__name__, lambda _: function(*args, **kwargs), attempts=attempts, pause=pause
            )

        return step_async

    @functools.wraps(function)
    def step_blocking(*args: Any, **kwargs: Any) -> Any:
        runtime = _runtime_of_step()
        if runtime is None:
            return function(*args, **kwargs)
        if not _has_loop():
            return runtime.blocking_step(
                function.__name__, lambda _: function(*args, **kwargs), attempts=attempts, pause=pause
            )
        # In a coroutine it runs in a thread, and is awaited.
        return runtime.step(
            function.__name__,
            lambda _: asyncio.to_thread(function, *args, **kwargs),
            attempts=attempts,
            pause=pause,
        )

    return step_blocking


def acquire_slot(
    name: str, *, label: str | None = None, timeout: str | int | timedelta | None = None
) -> Awaitable[Slot]:
    """Take a slot of the limit `name`, waiting in its queue for at most `timeout`, and return it held (A1).

    `timeout` is a duration like "30m", whole milliseconds or a timedelta; 24 hours if not given; 0 tries once. `label`
    is an id for the screens, no personal data. The slot stays held until somebody releases it, or its max hold.
    Raises `SlotTimeoutError`, `UnknownLimitError`, `InvalidValueError`, `WrongPlaceError`; `RunEndedError` in a run
    that was cancelled while it waited; `ForeignSlotError` in a fork of a run that took this slot.
    """
    runtime, box, run = _place("acquire_slot")
    parsed = durations.parse_timeout(timeout, where=f"{name}: timeout")
    names.check_label(label, where=f"{name}: label")
    asking = _Asking(runtime, box, run, name, label, parsed)
    if run.is_async:
        return asking.take()
    return cast(Awaitable[Slot], asking.take_blocking())


def release_slot(slot_id: str) -> Awaitable[Released]:
    """Give a slot back, whoever took it (F1): `released` is true once, and false for whatever else is given.

    In a workflow it is a step of its own, whose replay gets the same answer. It works in steps and in plain code of
    the box too, where without an event loop it blocks and returns the answer itself.
    """
    runtime = runtimes.installed()
    run = runtime.current() if runtime is not None else None
    if runtime is None or run is None or run.in_step or _box is None:
        release = partial(_release_outside, slot_id, run)
        return asyncio.to_thread(release) if _has_loop() else cast(Awaitable[Released], release())
    _check_place(runtime, run, "release_slot")
    if run.is_async:
        return _release(runtime, _box, run, slot_id)
    return cast(Awaitable[Released], _release_blocking(runtime, _box, run, slot_id))


def with_limit[T](
    name: str,
    function: Callable[[], Awaitable[T]],
    *,
    label: str | None = None,
    timeout: str | int | timedelta | None = None,
) -> Awaitable[T]:
    """Hold a slot while `function` runs, and return its result. As `limit_slot`."""
    held = limit_slot(name, label=label, timeout=timeout)
    if _has_loop():

        async def run() -> T:
            async with held:
                return await function()

        return run()
    with held:
        return function()


def limit_slot(name: str, *, label: str | None = None, timeout: str | int | timedelta | None = None) -> "_Held":
    """Hold a slot for the body of an `async with`, and give it back however the body ends (A8). As `acquire_slot`.

    The slot stays held where the run itself was cancelled: the work that it started may still go on.
    """
    return _Held(partial(acquire_slot, name, label=label, timeout=timeout))


class _Held:
    """A slot for the length of a block; of a `with` in a workflow that is a plain function."""

    def __init__(self, acquire: Callable[[], Awaitable[Slot]]) -> None:
        self._acquire = acquire
        self._slot_id = ""

    async def __aenter__(self) -> Slot:
        slot = await self._acquire()
        self._slot_id = slot.id
        return slot

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if _gives_back(error):
            # Whole, also where the code around gives up meanwhile.
            await asyncio.shield(asyncio.ensure_future(release_slot(self._slot_id)))

    def __enter__(self) -> Slot:
        slot = cast(Slot, self._acquire())
        self._slot_id = slot.id
        return slot

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if _gives_back(error):
            release_slot(self._slot_id)


def _gives_back(error: BaseException | None) -> bool:
    # The runtime ends a cancelled run, or one that passed on to another worker, by errors that are neither.
    return error is None or isinstance(error, Exception | asyncio.CancelledError)


@dataclass(slots=True)
class _Asking:
    """One call of `acquire_slot`."""

    runtime: Runtime
    box: Box
    run: CurrentRun
    limit: str
    label: str | None
    timeout: int
    call: Call | None = None

    async def take(self) -> Slot:
        try:
            recorded = await self.runtime.step(self._shown, self._body)
        except asyncio.CancelledError:
            # Given up by the code around it, like a timeout of its own: nobody is left to give the slot back.
            if self.call is not None:
                await asyncio.shield(asyncio.ensure_future(self.box.ask(self.box.abandon(self.call))))
            raise
        if self.call is None:
            self._check(recorded, await self.box.ask(partial(queries.slot, recorded["slot_id"], db=self.box.db)))
        return self._slot(recorded)

    def take_blocking(self) -> Slot:
        recorded = self.runtime.blocking_step(self._shown, self._blocking_body)
        if self.call is None:
            self._check(recorded, self.box.ask_blocking(partial(queries.slot, recorded["slot_id"], db=self.box.db)))
        return self._slot(recorded)

    @property
    def _shown(self) -> str:
        return WAITING_STEP.format(limit=self.limit)

    async def _body(self, number: int) -> dict[str, str]:
        self.call = self._called(number)
        return self._record(await self.box.take(self.call))

    def _blocking_body(self, number: int) -> dict[str, str]:
        self.call = self._called(number)
        return self._record(self.box.take_blocking(self.call))

    def _called(self, number: int) -> Call:
        return Call(
            limit=self.limit,
            label=self.label,
            timeout=self.timeout,
            run_id=self.run.id,
            workflow=self.run.workflow,
            runtime=self.runtime.name,
            step=number,
        )

    def _record(self, slot_id: str) -> dict[str, str]:
        return {"slot_id": slot_id, "run_id": self.run.id}

    def _slot(self, recorded: dict[str, str]) -> Slot:
        return Slot(id=recorded["slot_id"], limit=self.limit, label=self.label)

    def _check(self, recorded: dict[str, str], slot: queries.SlotRow | None) -> None:
        """Raise `ForeignSlotError` if the recorded slot is another run's, or ended before this one was rewound."""
        if recorded["run_id"] != self.run.id:
            raise ForeignSlotError(
                f"this run is a fork of {recorded['run_id']} from after its step {self._shown!r}: slot"
                f" {recorded['slot_id']} is that run's; fork it at that step or before, so that this one takes its own"
            )
        if slot is not None and slot.end_reason == "abandoned":
            raise ForeignSlotError(f"this run gave slot {slot.id} up while it took it, and goes on as if it had it")
        if slot is not None and slot.ended_at is not None and slot.step is None:
            raise ForeignSlotError(
                f"this run had ended and goes on after its step {self._shown!r}, but its slot {slot.id} is {slot.state};"
                " rewind it to that step or before, so that it takes another"
            )


def _place(what: str) -> tuple[Runtime, Box, CurrentRun]:
    """Return the run that may wait here; raises `WrongPlaceError` with what to do where none may (A7)."""
    runtime = runtimes.installed()
    run = runtime.current() if runtime is not None else None
    if runtime is None or run is None or _box is None:
        raise WrongPlaceError(
            f"{what} waits durably, so it works in a workflow function alone, and not in a thread that one of its steps"
            " started; code outside workflows takes slots with stackbone.client.Client"
        )
    if run.in_step:
        raise WrongPlaceError(
            f"{what} waits durably, so it works in the workflow function alone: move the call out of the step, and"
            " pass the slot's id to it"
        )
    _check_place(runtime, run, what)
    return runtime, _box, run


def _check_place(runtime: Runtime, run: CurrentRun, what: str) -> None:
    if run.is_async and not _has_loop():
        raise WrongPlaceError(f"{what} is called from a thread; await it in the workflow function")
    if _has_loop() and not (run.is_async and runtime.is_own_loop()):
        raise WrongPlaceError(f"{what} is awaited on an event loop of its own; call it from the workflow function")


async def _release(runtime: Runtime, box: Box, run: CurrentRun, slot_id: str) -> Released:
    async def body(number: int) -> bool:
        return await box.ask(partial(_give_back, box, run, slot_id, f"{run.id}/{number}"))

    return Released(await runtime.step(RELEASE_STEP, body))


def _release_blocking(runtime: Runtime, box: Box, run: CurrentRun, slot_id: str) -> Released:
    def body(number: int) -> bool:
        return box.ask_blocking(partial(_give_back, box, run, slot_id, f"{run.id}/{number}"))

    return Released(runtime.blocking_step(RELEASE_STEP, body))


def _give_back(box: Box, run: CurrentRun, slot_id: str, key: str | None) -> bool:
    actor = Actor(name=run.workflow, source="workflow")
    return engine.release(slot_id, actor=actor, key=key, db=box.db).released


def _release_outside(slot_id: str, run: CurrentRun | None) -> Released:
    if run is not None and _box is not None:
        return Released(_box.ask_blocking(partial(_give_back, _box, run, slot_id, None)))
    return _client().release(slot_id)


@functools.cache
def _client() -> Client:
    return Client()


def _runtime_of_step() -> Runtime | None:
    runtime = runtimes.installed()
    run = runtime.current() if runtime is not None else None
    return None if run is None or run.in_step else runtime


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
