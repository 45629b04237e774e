"""The telephony provider of the example, a small file: it holds the calls in progress and says when one has ended.

Like a real one it goes on while the call centre is down, and now and then it loses the news that a call has ended.
"""

import random
import sqlite3
import threading
import time
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parent / ".stackbone" / "provider.sqlite3"
FORGETS_AFTER: Final = 45 * 60
"""Seconds; by then the box has taken the slot of a lost call back."""
LOST_AT_MOST: Final = 4


class Provider:
    """The calls in progress, shared by all processes of the call centre; each has its own instance."""

    def __init__(self, file: Path = FILE) -> None:
        """Open the file, or make it."""
        file.parent.mkdir(exist_ok=True)
        self._lock = threading.Lock()
        self._file = sqlite3.connect(file, timeout=10, isolation_level=None, check_same_thread=False)
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS call ("
            " number INTEGER PRIMARY KEY AUTOINCREMENT,"
            " slot_id TEXT, placed_at REAL, ends_at REAL, lost INTEGER NOT NULL DEFAULT 0)"
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def new_number(self) -> int:
        """Return the number of a call that is about to be placed."""
        with self._lock:
            return int(self._file.execute("INSERT INTO call (slot_id) VALUES (NULL)").lastrowid or 0)

    def place(self, number: int, slot_id: str, *, seconds: float) -> bool:
        """Begin a call that lasts so long; return whether the news of its end will be lost."""
        now = time.time()
        with self._lock:
            lost = self._loses(now)
            self._file.execute(
                "UPDATE call SET slot_id = ?, placed_at = ?, ends_at = ?, lost = ? WHERE number = ?",
                (slot_id, now, now + seconds, lost, number),
            )
        return lost

    def drop(self, number: int) -> None:
        """Forget a call: it was never placed, or its end has been dealt with."""
        with self._lock:
            self._file.execute("DELETE FROM call WHERE number = ?", (number,))

    def ended(self) -> list[tuple[int, str]]:
        """Return number and slot id of the calls that have ended and were not dropped yet."""
        now = time.time()
        with self._lock:
            self._file.execute("DELETE FROM call WHERE lost AND placed_at < ?", (now - FORGETS_AFTER,))
            return self._file.execute(
                "SELECT number, slot_id FROM call WHERE ends_at < ? AND NOT lost", (now,)
            ).fetchall()

    def _loses(self, now: float) -> bool:
        # The first soon, so that there is one to see; then few enough that the call centre never stands still.
        [lost] = self._file.execute(
            "SELECT count(*) FROM call WHERE lost AND placed_at > ?", (now - FORGETS_AFTER,)
        ).fetchone()
        return lost < LOST_AT_MOST and random.random() < (1 / 60 if lost else 1 / 8)
