"""Races in a chosen order: both sides are started while the test holds the lock, and seen to wait for it."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from limits import pool

LIMIT_LOCK: Final = 1818846573
"""First key of the advisory lock of a limit; the second is the limit's id."""
SYNC_LOCK: Final = 1818846574


@contextmanager
def held(box: pool.Database, limit: str) -> Iterator[None]:
    """Hold a limit's lock inside."""
    with box.connection() as connection, connection.transaction():
        connection.execute(
            "SELECT pg_advisory_xact_lock(%s, id) FROM limits.limit WHERE name = %s", (LIMIT_LOCK, limit)
        )
        yield


def see_waiting(box: pool.Database, application: str, *, sessions: int = 1) -> None:
    """Return once so many sessions of that name wait for a lock."""
    give_up_at = time.monotonic() + 30
    while _waiting(box, application) < sessions:
        assert time.monotonic() < give_up_at, f"{application} does not wait for a lock"
        time.sleep(0.005)


def _waiting(box: pool.Database, application: str) -> int:
    [found] = box.fetch(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'",
        (application,),
    )
    return int(found["count"])


class Contender:
    """A call in a thread and a session of its own."""

    def __init__(self, box: pool.Database, name: str, call: Callable[[pool.Database], Any]) -> None:
        self.name = name
        self._database = pool.Database(box.url, application_name=name, size=1)
        self._outcome: queue.Queue[Any] = queue.Queue()
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.put(self._call(self._database))
        except Exception as error:
            self._outcome.put(error)
        finally:
            self._database.close()

    def outcome(self) -> Any:
        """Return what the call returned, or the error it raised."""
        outcome = self._outcome.get(timeout=30)
        self._thread.join(10)
        return outcome


def race(
    box: pool.Database,
    limit: str,
    *calls: Callable[[pool.Database], Any],
    meanwhile: Callable[[], None] = lambda: None,
) -> list[Any]:
    """Let the calls queue up for the limit's lock in the given order and return their outcomes in that order.

    `meanwhile` happens once all of them wait. PostgreSQL serves a lock's waiters in their order.
    """
    contenders = []
    with held(box, limit):
        for number, call in enumerate(calls):
            contenders.append(Contender(box, f"contender {number}", call))
            see_waiting(box, f"contender {number}")
        meanwhile()
    return [contender.outcome() for contender in contenders]
