"""One listening connection per process: it wakes whoever waits, and its session proves that the process lives.

A notification carries the id of a slot that was granted, timed out or withdrawn, and is only a hint: waiters read
the slot's state after each ring. What a lost connection swallowed is made up for by one question for all waiters,
asked over the same connection after each connect and every few seconds, which is its probe as well.
The connection needs a real session: a pooler in between must not share it (LISTEN, session lock).
"""

import contextlib
import logging
import os
import random
import selectors
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import pq

from limits.errors import BoxUnreachableError, IdentityTakenError, LimitsError, NotMigratedError
from limits.pool import Connection, Database
from limits.presence import Client, Presence

log = logging.getLogger(__name__)

ASK_EVERY: Final = 5.0
"""Seconds between two questions for the state of everybody who waits."""
ANSWER_WITHIN: Final = 5.0
"""Seconds after which an unanswered question means that the connection is half-open."""
CONNECTED_WITHIN: Final = 5.0
RETRY_EVERY_AT_MOST: Final = 5.0
CLOSED_WITHIN: Final = 5.0

# Those that wait no more, out of all that do; with none, the connection's probe.
_NEWS: Final = b"""
    SELECT w.id FROM unnest($1::uuid[]) AS w (id) LEFT JOIN limits.slot s ON s.id = w.id
    WHERE s.state IS DISTINCT FROM 'waiting'"""

# Trouble that no waiting ends.
_FOR_GOOD: Final = (NotMigratedError, IdentityTakenError)
_SILENT: Final = "no answer on the listening connection"


class ClosedError(LimitsError):
    """The client was closed."""


class Waiter:
    """Whoever waits for news of one slot; for asyncio, `on_ring` is called too, in the listener's thread."""

    def __init__(self, slot_id: str, on_ring: Callable[[], None] | None = None) -> None:
        """Wait for the slot `slot_id`; nothing rings before `Wakeups.watch`."""
        self.slot_id = slot_id
        self._on_ring = on_ring
        self._rung = threading.Event()

    def ring(self) -> None:
        """Say that there may be news."""
        self._rung.set()
        if self._on_ring is not None:
            self._on_ring()

    def wait(self, seconds: float) -> bool:
        """Wait for a ring, at most so long, and forget it; tell whether there was one."""
        rung = self._rung.wait(min(seconds, threading.TIMEOUT_MAX))
        self._rung.clear()
        return rung


class Wakeups:
    """The listener of one process on one box, a daemon thread that starts when somebody first needs it.

    It costs one connection, however many wait; a forked child starts with a listener of its own.
    """

    def __init__(
        self, db: Database, *, presence: Presence | None = None, on_run_ended: Callable[[], None] | None = None
    ) -> None:
        """Listen on `db`, from the first use on, as a plain client unless it is told what else.

        `on_run_ended` is called, in the listener's thread, when a run has ended that waited for a slot.
        """
        self._db = db
        self._presence = presence or Client(db)
        self._on_run_ended = on_run_ended
        self._begin()
        _everybody.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._waiters: dict[str, set[Waiter]] = {}
        self._thread: threading.Thread | None = None
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._connection: Connection | None = None
        self._process_id: int | None = None
        self._present = False
        self._lock_held = False
        self._failures = 0
        self._trouble: Exception | None = None
        self.closed = False

    @contextmanager
    def watch(self, slot_id: str, on_ring: Callable[[], None] | None = None) -> Iterator[Waiter]:
        """Lend a waiter for the slot. What happened before is news for `look` alone. Raises `ClosedError`."""
        waiter = Waiter(slot_id, on_ring)
        with self._changed:
            self._start()
            self._waiters.setdefault(slot_id, set()).add(waiter)
        try:
            yield waiter
        finally:
            with self._changed:
                self._waiters[slot_id].discard(waiter)
                if not self._waiters[slot_id]:
                    del self._waiters[slot_id]
                self._changed.notify_all()

    def look(self, waiter: Waiter) -> None:
        """Ring the waiter if there were news before it was registered; away, the box is asked once it is back."""
        with contextlib.suppress(BoxUnreachableError):
            if self._db.fetch("SELECT FROM limits.slot WHERE id = %s AND state <> 'waiting'", [waiter.slot_id]):
                waiter.ring()

    def process_id(self) -> int:
        """Return the id under which the box knows this process, which its session proves alive (Q7).

        Raises `BoxUnreachableError` after a few seconds, `NotMigratedError`, `IdentityTakenError`, `ClosedError`.
        """
        with self._changed:
            self._start()
            self._changed.wait_for(
                lambda: self._present or self.closed or isinstance(self._trouble, _FOR_GOOD),
                CONNECTED_WITHIN,
            )
            if self.closed:
                raise ClosedError
            if self._present and self._process_id is not None:
                return self._process_id
            if isinstance(self._trouble, _FOR_GOOD):
                raise self._trouble
            raise BoxUnreachableError(str(self._trouble or "") or None)

    @property
    def trouble(self) -> Exception | None:
        """Why the listener has no connection just now; none while it has."""
        return self._trouble

    def join_anew(self, process_id: int) -> None:
        """Give up a process id that the box has given up; the next `process_id()` is another one."""
        with self._changed:
            if self._process_id == process_id:
                self._process_id, self._present = None, False
        self._ring_bell()

    def close(self) -> None:
        """Ring everybody, let them leave the queue, and end the connection."""
        with self._changed:
            self.closed = True
            for waiters in self._waiters.values():
                for waiter in waiters:
                    waiter.ring()
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiters, CLOSED_WITHIN)
            thread = self._thread
        self._ring_bell()
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSED_WITHIN)

    def _start(self) -> None:
        if self.closed:
            raise ClosedError
        if self._thread is None:
            if self._bell is None:
                self._bell = socket.socketpair()
                for end in self._bell:
                    end.setblocking(False)
            thread = threading.Thread(target=self._run, name="stackbone-wakeups", daemon=True)
            # May fail where threads are scarce; the next call tries again.
            thread.start()
            self._thread = thread

    def _ring_bell(self) -> None:
        bell = self._bell
        if bell is not None:
            # Full or closed: it has rung already, or nobody listens any more.
            with contextlib.suppress(OSError):
                bell[1].send(b"!")

    def _run(self) -> None:
        assert self._bell is not None
        try:
            while not self.closed:
                try:
                    forks = _forks
                    with contextlib.closing(self._db.connect()) as connection:
                        self._connection = connection
                        # Closed in a child; but a child that began while we were connecting knows of no connection,
                        # keeps its copy of the socket, and the session would live on with it: for us it ends here.
                        if forks == _forks:
                            self._listen(connection)
                except Exception as error:
                    self._lost(error)
                finally:
                    self._connection = None
        finally:
            for end in self._bell:
                end.close()

    def _lost(self, error: Exception) -> None:
        with self._changed:
            self._present = self._lock_held = False
            self._trouble = error
            self._changed.notify_all()
        if not isinstance(error, (LimitsError, psycopg.Error)):
            log.exception("the listener failed; it starts again")
        elif not self._failures:
            log.warning("the listener lost its connection (%s); it tries again until the box is back", error)
        # Spread, so that many processes do not come back in one instant.
        pause = min(RETRY_EVERY_AT_MOST, 0.05 * 2**self._failures) * random.uniform(0.5, 1)
        self._failures = min(self._failures + 1, 10)
        self._pause(pause)

    def _pause(self, seconds: float) -> None:
        assert self._bell is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._bell[0], selectors.EVENT_READ)
            selector.select(seconds)
        self._quiet_bell()

    def _quiet_bell(self) -> None:
        assert self._bell is not None
        with contextlib.suppress(BlockingIOError):
            while self._bell[0].recv(4096):
                pass

    def _listen(self, connection: Connection) -> None:
        """Hand on what arrives until closed; raises when the connection is lost."""
        assert self._bell is not None
        connection.execute("LISTEN limits_wake")
        if self._on_run_ended is not None:
            connection.execute("LISTEN limits_run_ended")
            # What was reported while nobody listened.
            self._on_run_ended()
        line = _Line(connection.pgconn)
        ask_at = 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(self._bell[0], selectors.EVENT_READ)
            selector.register(connection.pgconn.socket, selectors.EVENT_READ)
            while not self.closed:
                if not line.asking and (time.monotonic() >= ask_at or not self._present):
                    self._prove_presence(connection)
                    with self._changed:
                        waiting = list(self._waiters)
                    line.ask(waiting)
                    ask_at = time.monotonic() + ASK_EVERY
                selector.select(max(0.0, line.patience(ask_at) - time.monotonic()))
                self._quiet_bell()
                for slot_id in line.read():
                    self._ring(slot_id)

    def _ring(self, slot_id: str) -> None:
        # The news of an ended run name no slot.
        if not slot_id and self._on_run_ended is not None:
            self._on_run_ended()
        with self._changed:
            waiters = list(self._waiters.get(slot_id, ()))
        for waiter in waiters:
            waiter.ring()

    def _prove_presence(self, connection: Connection) -> None:
        """Lock this process's id, the same as before if the box has not given it up meanwhile (Q7)."""
        if self._present and self._lock_held:
            return
        process_id, held = self._presence.prove(connection, self._process_id)
        if self._failures:
            log.warning("the listener is connected again")
        with self._changed:
            self._process_id, self._lock_held, self._present = process_id, held, True
            self._failures, self._trouble = 0, None
            self._changed.notify_all()

    def _begin_in_child(self) -> None:
        # The parent's session must end with the parent: the child's copy of its socket would keep it open.
        # The object stays, so that nothing ever speaks on that socket from here.
        if self._connection is not None:
            _of_parents.append(self._connection)
            with contextlib.suppress(OSError, psycopg.Error):
                os.close(self._connection.pgconn.socket)
        for end in self._bell or ():
            end.close()
        self._begin()


class _Line:
    """The traffic of the listening connection: notifications come in, one question at a time goes out.

    A question never blocks: on a half-open connection it would block for good.
    """

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self._pgconn = pgconn
        self._answer_by: float | None = None

    @property
    def asking(self) -> bool:
        return self._answer_by is not None

    def patience(self, otherwise: float) -> float:
        return otherwise if self._answer_by is None else self._answer_by

    def ask(self, slot_ids: list[str]) -> None:
        self._answer_by = time.monotonic() + ANSWER_WITHIN
        self._pgconn.send_query_params(_NEWS, [f"{{{','.join(slot_ids)}}}".encode()])
        # More ids than the socket takes at once are rare: the listener may wait for that.
        while self._pgconn.flush():
            with selectors.DefaultSelector() as selector:
                selector.register(self._pgconn.socket, selectors.EVENT_WRITE)
                if not selector.select(ANSWER_WITHIN):
                    raise psycopg.OperationalError(_SILENT)

    def read(self) -> Iterator[str]:
        """Take in what has arrived and yield the ids of slots with news; raises when the connection is lost."""
        self._pgconn.consume_input()
        while notification := self._pgconn.notifies():
            yield notification.extra.decode()
        if self._answer_by is None:
            return
        while not self._pgconn.is_busy():
            result = self._pgconn.get_result()
            if result is None:
                self._answer_by = None
                # What came in one piece with the end of the answer; the socket has nothing more to say of it.
                while notification := self._pgconn.notifies():
                    yield notification.extra.decode()
                return
            if result.status != pq.ExecStatus.TUPLES_OK:
                raise psycopg.OperationalError(result.error_message.decode(errors="replace"))
            for row in range(result.ntuples):
                yield (result.get_value(row, 0) or b"").decode()
        if time.monotonic() >= self._answer_by:
            raise psycopg.OperationalError(_SILENT)


_everybody: weakref.WeakSet[Wakeups] = weakref.WeakSet()
_of_parents: list[Connection] = []


def _begin_in_child() -> None:
    for wakeups in list(_everybody):
        wakeups._begin_in_child()


def _count_fork() -> None:
    global _forks
    _forks += 1


_forks = 0
os.register_at_fork(before=_count_fork, after_in_child=_begin_in_child)
