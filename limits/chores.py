"""What a process still owes the box: engine calls that failed, or were interrupted, made again until they succeed."""

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Final

import psycopg

from limits.errors import BoxUnreachableError

log = logging.getLogger(__name__)

RETRY_EVERY_AT_MOST: Final = 1.0


class Chores:
    """A list of chores, and a daemon thread that works on it while there are any; none holds up the others."""

    def __init__(self) -> None:
        """Begin with nothing to do."""
        self._begin()
        _everybody.add(self)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._left: list[Callable[[], object]] = []
        self._thread: threading.Thread | None = None

    def add(self, chore: Callable[[], object]) -> None:
        """Do `chore`, an idempotent engine call, as soon as the box answers (again)."""
        with self._changed:
            self._left.append(chore)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="stackbone-chores", daemon=True)
                thread.start()
                self._thread = thread

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to do, at most so long; tell whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._left, seconds)

    def _run(self) -> None:
        pause = 0.01
        while True:
            with self._changed:
                if not self._left:
                    self._thread = None
                    self._changed.notify_all()
                    return
                chores = list(self._left)
            done = [chore for chore in chores if _did(chore)]
            with self._changed:
                self._left = [chore for chore in self._left if chore not in done]
            if not done:
                time.sleep(pause)
                pause = min(pause * 2, RETRY_EVERY_AT_MOST)


def _did(chore: Callable[[], object]) -> bool:
    """Try the chore; false if it is to be tried again."""
    try:
        chore()
    except (BoxUnreachableError, psycopg.Error):
        return False
    except Exception:
        log.exception("what was left to do could not be done")
    return True


_everybody: weakref.WeakSet[Chores] = weakref.WeakSet()


def _begin_in_child() -> None:
    # The thread stayed behind, and with it what the parent owes.
    for chores in list(_everybody):
        chores._begin()


os.register_at_fork(after_in_child=_begin_in_child)
