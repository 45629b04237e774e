"""How a run waits for a slot: one conversation with the engine, for coroutines and for threads.

A waiting run holds no connection, transaction or lock, and a coroutine no thread (Q3): the process's one listener
wakes it, and it asks the engine how its slot stands. An outage of the box is waited through, however long it takes:
the deadline stands in the database.
"""

import asyncio
import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from limits import engine, queries
from limits.engine import Actor, Asked
from limits.errors import BoxUnreachableError, LimitsError, SlotTimeoutError
from limits.pool import POOL_SIZE, Database
from limits.wakeups import Waiter, Wakeups

log = logging.getLogger(__name__)

RETRY_EVERY_AT_MOST: Final = 2.0


class RunEndedError(LimitsError):
    """The run ended, cancelled or failed, while it waited for a slot; it left the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call for a slot: which run asks, at which of its steps, for what."""

    limit: str
    label: str | None
    timeout: int
    run_id: str
    workflow: str
    runtime: str
    step: int
    asker: uuid.UUID = field(default_factory=uuid.uuid4)
    """This execution of it: a later one, on another worker, takes the slot over."""

    @property
    def key(self) -> str:
        """What names the call: however often it is sent, it gets one slot (A5)."""
        return f"{self.run_id}/{self.step}"


@dataclass(frozen=True, slots=True)
class _Wait:
    waiter: Waiter
    seconds: float


class Box:
    """This process's way to the engine, for all runs it runs: a few threads, one listener."""

    def __init__(self, db: Database, wakeups: Wakeups) -> None:
        """Share the pool and the listener of the process."""
        self.db = db
        self.wakeups = wakeups
        self.waiting: dict[object, str] = {}
        """The runs that wait just now, by wait."""
        self._threads = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="stackbone-engine")
        self._stopping = False

    def stop(self) -> None:
        """Let nobody take a slot any more: who waits stays in the queue, for the next start."""
        self._stopping = True

    async def take(self, call: Call) -> str:
        """Wait for the slot and return its id, held; raises `SlotTimeoutError`, `RunEndedError`, `LimitsError`."""
        loop = asyncio.get_running_loop()
        rung = asyncio.Event()

        def ring() -> None:
            # The loop of a process that stops is closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(rung.set)

        conversation = self._conversation(call, ring)
        with contextlib.closing(conversation):
            said = next(conversation)
            while True:
                if isinstance(said, _Wait):
                    with self._listed(call), contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(said.seconds):
                            await rung.wait()
                        rung.clear()
                    answer: Any = None
                else:
                    answer = await self.ask(said)
                if self._stopping:
                    with self._listed(call):
                        await asyncio.Event().wait()
                try:
                    said = conversation.send(answer)
                except StopIteration as end:
                    return str(end.value)

    def take_blocking(self, call: Call) -> str:
        """As `take`, for a thread."""
        conversation = self._conversation(call, None)
        with contextlib.closing(conversation):
            said = next(conversation)
            while True:
                answer: Any = None
                if isinstance(said, _Wait):
                    with self._listed(call):
                        said.waiter.wait(said.seconds)
                else:
                    answer = self.ask_blocking(said)
                if self._stopping:
                    with self._listed(call):
                        threading.Event().wait()
                try:
                    said = conversation.send(answer)
                except StopIteration as end:
                    return str(end.value)

    async def ask[T](self, call: Callable[[], T]) -> T:
        """Make an engine call in a thread, again and again while the box is away."""
        loop = asyncio.get_running_loop()
        pause = 0.05
        while True:
            try:
                return await loop.run_in_executor(self._threads, call)
            except BoxUnreachableError as error:
                _tell(error, pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, RETRY_EVERY_AT_MOST)

    def ask_blocking[T](self, call: Callable[[], T]) -> T:
        """As `ask`, in the calling thread."""
        pause = 0.05
        while True:
            try:
                return call()
            except BoxUnreachableError as error:
                _tell(error, pause)
            time.sleep(pause)
            pause = min(pause * 2, RETRY_EVERY_AT_MOST)

    def abandon(self, call: Call) -> Callable[[], object]:
        """Return the engine call that gives back whatever the call holds or waits for."""
        return partial(
            engine.abandon,
            call.limit,
            call.key,
            asker=call.asker,
            actor=Actor(name=call.workflow, source="workflow"),
            db=self.db,
        )

    @contextlib.contextmanager
    def _listed(self, call: Call) -> Generator[None]:
        token = uuid.uuid4()
        self.waiting[token] = call.run_id
        try:
            yield
        finally:
            self.waiting.pop(token, None)

    def _conversation(self, call: Call, on_ring: Callable[[], None] | None) -> Generator[Any, Any, str]:
        """Say what to do next, an engine call to make or a ring to wait for, until the slot is held."""
        request = partial(
            engine.request,
            call.limit,
            key=call.key,
            label=call.label,
            timeout=call.timeout,
            run_id=call.run_id,
            workflow=call.workflow,
            runtime=call.runtime,
            asker=call.asker,
            db=self.db,
        )
        asked: Asked = yield request
        while asked.state != "busy":
            slot_id = asked.slot_id or ""
            if asked.state in ("no_slot", "timed_out"):
                raise SlotTimeoutError(call.limit, call.timeout)
            if asked.state == "run_ended":
                raise RunEndedError
            if asked.state == "waiting":
                yield partial(self._warn_of_nesting, call)
                with self.wakeups.watch(slot_id, on_ring) as waiter:
                    yield partial(self.wakeups.look, waiter)
                    while asked.state == "waiting":
                        yield _Wait(waiter, (asked.wait_left or 0) / 1_000)
                        asked = yield partial(engine.confirm, slot_id, db=self.db)
            elif asked.state == "reserved":
                asked = yield partial(engine.confirm, slot_id, db=self.db)
            else:
                # Ended behind our back: asked anew, which tells whether the run is alive at all.
                asked = yield request
        assert asked.slot_id is not None
        return asked.slot_id

    def _warn_of_nesting(self, call: Call) -> None:
        held = queries.held_by_run(call.limit, call.run_id, db=self.db)
        limit = queries.limit(call.limit, db=self.db) if held else None
        if limit is not None and held >= limit.capacity.effective:
            log.warning(
                "run %s waits for itself: it holds all %s slots of limit %r and asks for another",
                call.run_id,
                limit.capacity.effective,
                call.limit,
            )


def _tell(error: BoxUnreachableError, pause: float) -> None:
    if pause == RETRY_EVERY_AT_MOST:
        log.warning("a run waits for the box: %s", error)
