"""Slots for code in no workflow: a script, a Celery task, somebody else's Django project.

    client = Client()
    with client.slot("partner-api", label=report_id, timeout="30m"):
        ...

One client per process is enough, threads share it; it keeps at most five connections, however many wait.
A process that forks may go on using it on both sides.
"""

import logging
import os
import secrets
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psycopg

from limits import durations, engine
from limits.chores import Chores
from limits.engine import Actor, Asked
from limits.errors import (
    BoxBusyError,
    BoxUnreachableError,
    InvalidValueError,
    LimitsError,
    ProcessGoneError,
    SlotTimeoutError,
    UnknownLimitError,
)
from limits.pool import Database, database_url
from limits.wakeups import CLOSED_WITHIN, ClosedError, Wakeups
from stackbone.box_file import url_of_dev

__all__ = [
    "BoxUnreachableError",
    "Client",
    "ClosedError",
    "InvalidValueError",
    "Released",
    "Slot",
    "SlotTimeoutError",
    "UnknownLimitError",
]

log = logging.getLogger(__name__)

PATIENCE: Final = 10.0
"""Seconds for which a request or a release is tried again while the box does not answer."""
PATIENCE_WHEN_BUSY: Final = 60.0
"""Seconds for which a call is tried again while the box answers, but another session keeps the limit locked."""
PATIENCE_AFTER_TIMEOUT: Final = 60.0
"""A wait outlasts an outage for as long as its own timeout, and for so many seconds more."""

# Errors after which nothing of the call is left in the box.
_NOTHING_LEFT: Final = (SlotTimeoutError, UnknownLimitError, InvalidValueError)


@dataclass(frozen=True, slots=True)
class Released:
    """The answer of a release."""

    released: bool
    """Whether this call gave the slot back; false for one that had ended, or was never known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A slot that is held. Its id is text that any process may release it by."""

    id: str
    limit: str
    label: str | None = None
    client: "Client" = field(repr=False, compare=False)

    def release(self) -> Released:
        """Give the slot back; harmless if it has ended already."""
        return self.client.release(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    limit: str
    key: str
    own_key: bool
    label: str | None
    timeout: int
    asker: uuid.UUID = field(default_factory=uuid.uuid4)


class Client:
    """The way to a box's slots, straight to its database."""

    def __init__(self, database_url: str | None = None) -> None:
        """Take the box at `database_url`, else at `STACKBONE_DATABASE_URL`, else at `DATABASE_URL`.

        Else that of a `stackbone dev` which runs in the workspace `STACKBONE_WORKSPACE`, or in the current folder.
        Nothing connects before the first call. Raises `BoxUnreachableError` where none is known.
        """
        self._db = Database(database_url or _known_url(), application_name="stackbone client")
        self._wakeups = Wakeups(self._db)
        self._owed = Chores()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all connections. Whoever still waits leaves the queue and gets a `ClosedError`.

        Held slots stay; one that is given back afterwards connects once more.
        """
        self._wakeups.close()
        self._owed.wait(CLOSED_WITHIN)
        self._db.close()

    def acquire(
        self,
        name: str,
        *,
        label: str | None = None,
        timeout: str | int | timedelta | None = None,
        key: str | None = None,
    ) -> Slot:
        """Take a slot of the limit `name`, waiting in its queue for at most `timeout`, and return it held.

        `timeout` is a duration like "30m", whole milliseconds or a timedelta; 24 hours if not given; 0 tries once.
        The same `key`, up to 200 characters, finds the slot that it already asked for: pass a Celery task's id, and
        a second delivery holds no second slot. `label` is an id for the screens; no personal data.
        Raises `SlotTimeoutError`, `UnknownLimitError`, `InvalidValueError`, `BoxUnreachableError`. Whatever else
        ends the call, like Ctrl-C, also ends its place in the queue.
        """
        call = _call(name, label, timeout, key)
        try:
            return self._acquire(call)
        except BaseException as error:
            self._leave(call, error)
            raise

    @contextmanager
    def slot(
        self,
        name: str,
        *,
        label: str | None = None,
        timeout: str | int | timedelta | None = None,
        key: str | None = None,
    ) -> Iterator[Slot]:
        """Hold a slot for the body of a `with`, and give it back however the body ends. As `acquire`."""
        call = _call(name, label, timeout, key)
        slot = None
        try:
            slot = self._acquire(call)
            yield slot
        except BaseException as error:
            if slot is None:
                self._leave(call, error)
            raise
        finally:
            if slot is not None:
                self._give_back(slot)

    def release(self, slot_id: str) -> Released:
        """Give a held slot back, whoever took it; any other id, and any later call, changes nothing (F1).

        Raises `BoxUnreachableError`.
        """
        return Released(self._patiently(self._releasing(slot_id), PATIENCE).released)

    def trigger(self, workflow: str, input: object = None, *, run_id: str | None = None) -> str:
        """Start a run of `workflow` with a JSON value as its input, and return the run's id.

        The same `run_id` again starts nothing. Raises `InvalidValueError` for an input that the workflow does not
        take, `UnknownWorkflowError`, `BoxUnreachableError`.
        """
        from stackbone import runs

        # One id for all tries: a try whose answer got lost starts no second run.
        wanted = run_id or str(uuid.uuid4())
        return self._patiently(lambda: runs.trigger(workflow, input, run_id=wanted, db=self._db), PATIENCE)

    def result(self, run_id: str, *, timeout: str | int | timedelta | None = None) -> object:
        """Wait for a run to end, at most `timeout` (24 hours if not given), and return its output.

        Raises `SlotTimeoutError` where that ended the run, `RunFailedError` for any other end, `UnknownRunError`,
        `TimeoutError`, `BoxUnreachableError`.
        """
        from stackbone import runs

        wait = durations.parse_timeout(timeout, where="timeout") / 1_000
        until, pause = time.monotonic() + wait, 0.02
        while True:
            run = self._patiently(lambda: runs.run(run_id, db=self._db), PATIENCE)
            if run is None:
                raise runs.UnknownRunError(run_id)
            if run.row.status not in ("queued", "running"):
                return runs.output_of(run)
            if time.monotonic() >= until:
                raise TimeoutError(f"run {run_id} has not ended within {wait:g} s")
            time.sleep(min(pause, max(0.0, until - time.monotonic())))
            pause = min(pause * 2, 1.0)

    def _acquire(self, call: _Call) -> Slot:
        left = call.timeout
        asked = self._request(call, left)
        while asked.state != "busy":
            left = left if asked.wait_left is None else asked.wait_left
            if asked.state == "reserved":
                # Granted in time, so it is used, however little is left (Q4).
                asked = self._patiently(partial(self._confirm, _id_of(asked)), PATIENCE_AFTER_TIMEOUT)
            elif asked.state in ("no_slot", "timed_out") or call.timeout == 0 or left == 0:
                raise SlotTimeoutError(call.limit, call.timeout)
            elif asked.state == "waiting":
                asked = self._wait(call, asked)
            else:
                # Withdrawn behind our back: asked again, at the end, with what is left of the timeout (Q7).
                asked = self._request(call, left)
        return Slot(id=_id_of(asked), limit=call.limit, label=call.label, client=self)

    def _request(self, call: _Call, timeout: int) -> Asked:
        def request() -> Asked:
            while True:
                # What never queues needs no process to prove that somebody still waits.
                process_id = self._wakeups.process_id() if timeout else None
                try:
                    return engine.request(
                        call.limit,
                        key=call.key,
                        label=call.label,
                        timeout=timeout,
                        worker_id=process_id,
                        asker=call.asker,
                        db=self._db,
                    )
                except ProcessGoneError:
                    assert process_id is not None
                    self._wakeups.join_anew(process_id)

        return self._patiently(request, PATIENCE, when_busy=min(timeout / 1_000, PATIENCE_WHEN_BUSY))

    def _wait(self, call: _Call, asked: Asked) -> Asked:
        """Wait for the grant and confirm it; the answer is final, or says that the slot ended meanwhile."""
        slot_id = _id_of(asked)
        with self._wakeups.watch(slot_id) as waiter:
            self._wakeups.look(waiter)
            while asked.state == "waiting":
                left = (asked.wait_left or 0) / 1_000
                waiter.wait(left)
                if self._wakeups.closed:
                    # While we still count as waiting: whoever closes looks on.
                    self._abandon(call)
                    raise ClosedError
                asked = self._patiently(partial(self._confirm, slot_id), left + PATIENCE_AFTER_TIMEOUT)
        return asked

    def _confirm(self, slot_id: str) -> Asked:
        if self._wakeups.closed:
            raise ClosedError
        return engine.confirm(slot_id, db=self._db)

    def _leave(self, call: _Call, error: BaseException) -> None:
        """Give back whatever the call that ended in `error` holds or waits for, even where its answer was lost."""
        if isinstance(error, _NOTHING_LEFT):
            return
        if isinstance(error, BoxUnreachableError) and not call.own_key:
            # Its next delivery may come from anywhere, and finds the slot.
            return

        self._abandon(call)

    def _abandon(self, call: _Call) -> None:
        self._now_or_later(lambda: engine.abandon(call.limit, call.key, asker=call.asker, actor=_actor(), db=self._db))

    def _give_back(self, slot: Slot) -> None:
        # The body's own end counts, its result or its error: an outage here delays the release and hides nothing.
        release = self._releasing(slot.id)
        error = self._now_or_later(lambda: self._patiently(release, PATIENCE), release)
        if error is not None:
            log.warning("slot %s of limit %s is given back once the box answers: %s", slot.id, slot.limit, error)

    def _now_or_later(self, now: Callable[[], object], later: Callable[[], object] | None = None) -> Exception | None:
        """Make an engine call that must not get lost; where the box does not let us, later, and return its error.

        An interruption, like a second Ctrl-C, only puts the call off: it is raised all the same.
        """
        try:
            now()
        except BaseException as error:
            self._owed.add(later or now)
            if not isinstance(error, (LimitsError, psycopg.Error)):
                raise
            return error
        return None

    def _releasing(self, slot_id: str) -> Callable[[], engine.Released]:
        # One key for all tries: a try whose answer got lost is not taken for somebody else's release.
        key = secrets.token_hex(16)
        return lambda: engine.release(slot_id, actor=_actor(), key=key, db=self._db)

    def _patiently[T](self, call: Callable[[], T], seconds: float, *, when_busy: float = PATIENCE_WHEN_BUSY) -> T:
        """Make an engine call, and make it again for so long while the box does not answer, or is busy."""
        begun = time.monotonic()
        pause = 0.01
        while True:
            try:
                return call()
            except BoxUnreachableError as error:
                patience = when_busy if isinstance(error, BoxBusyError) else seconds
                if time.monotonic() >= begun + patience:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, 1.0)


def _call(name: str, label: str | None, timeout: str | int | timedelta | None, key: str | None) -> _Call:
    return _Call(
        limit=name,
        key=secrets.token_hex(16) if key is None else key,
        own_key=key is None,
        label=label,
        timeout=durations.parse_timeout(timeout, where=f"{name}: timeout"),
    )


def _id_of(asked: Asked) -> str:
    assert asked.slot_id is not None
    return asked.slot_id


def _actor() -> Actor:
    return Actor(name=f"{socket.gethostname()}:{os.getpid()}", source="client")


def _known_url() -> str:
    workspace = Path(os.environ.get("STACKBONE_WORKSPACE") or ".")
    url = database_url() or url_of_dev(workspace)
    if url is None:
        raise BoxUnreachableError(
            f"no database is known: pass its address, set STACKBONE_DATABASE_URL, or run `stackbone dev` in {workspace.resolve()}"
        )
    return url
