"""The telephony provider of the example, a small file: it holds the calls in progress and says when one has ended.

Like a real one it goes on while the call centre is down, and now and then it loses the news that a call has ended.
"""

import random
import sqlite3
import threading
import time
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parent / ".stackbone" / "telephony.sqlite3"
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
            " call_id TEXT PRIMARY KEY, slot_id TEXT, placed_at REAL, ends_at REAL,"
            " lost INTEGER NOT NULL, told INTEGER NOT NULL DEFAULT 0)"
        )
        self._file.execute("CREATE TABLE IF NOT EXISTS number (number INTEGER PRIMARY KEY AUTOINCREMENT)")

    def new_number(self) -> int:
        """Return a number that no call had before."""
        with self._lock:
            number = int(self._file.execute("INSERT INTO number DEFAULT VALUES").lastrowid or 0)
            self._file.execute("DELETE FROM number WHERE number < ?", (number,))
        return number

    def place(self, call_id: str, slot_id: str, *, seconds: float) -> bool:
        """Begin a call that lasts so long; return whether the news of its end will be lost.

        Asked again for the same call, it goes on as it was.
        """
        now = time.time()
        with self._lock:
            self._file.execute("DELETE FROM call WHERE placed_at < ?", (now - FORGETS_AFTER,))
            self._file.execute(
                "INSERT OR IGNORE INTO call (call_id, slot_id, placed_at, ends_at, lost) VALUES (?, ?, ?, ?, ?)",
                (call_id, slot_id, now, now + seconds, self._loses()),
            )
            [lost] = self._file.execute("SELECT lost FROM call WHERE call_id = ?", (call_id,)).fetchone()
        return bool(lost)

    def ended(self) -> list[tuple[str, str]]:
        """Return call id and slot id of the calls whose end nobody was told of yet."""
        with self._lock:
            return self._file.execute(
                "SELECT call_id, slot_id FROM call WHERE ends_at < ? AND NOT lost AND NOT told", (time.time(),)
            ).fetchall()

    def told(self, call_id: str) -> None:
        """Remember that the call centre knows of a call's end."""
        with self._lock:
            self._file.execute("UPDATE call SET told = 1 WHERE call_id = ?", (call_id,))

    def _loses(self) -> bool:
        # The first soon, so that there is one to see; then few enough that the call centre never stands still.
        [lost] = self._file.execute("SELECT count(*) FROM call WHERE lost").fetchone()
        return lost < LOST_AT_MOST and random.random() < (1 / 60 if lost else 1 / 8)
