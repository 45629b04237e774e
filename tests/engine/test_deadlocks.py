"""No two operations ever wait for each other in a circle."""

import os
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from limits import engine, pool, queries
from limits.errors import ChangedMeanwhileError, ProcessGoneError, UnknownLimitError
from limits.rules import HOUR, MINUTE
from tests.conftest import Clock
from tests.engine.steps import CLIENT, OPERATOR
from tests.postgres import Server

type Declare = Callable[..., engine.Synced]

LONG: Final = bool(os.environ.get("STACKBONE_LONG_PROOFS"))
SESSIONS: Final = 16
SECONDS: Final = 120 if LONG else 15
LIMITS: Final = ("a", "b", "c", "d")
EXPECTED: Final = (UnknownLimitError, ChangedMeanwhileError, ProcessGoneError)


class Session(threading.Thread):
    """One session that does anything, with every limit, until the time is up."""

    def __init__(self, url: str, seed: int, until: float) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.db = pool.Database(url, application_name=f"session {seed}", size=1)
        self.until = until
        self.process = engine.join("client", name="session", db=self.db)
        self.slots: list[str] = []
        self.done: dict[str, int] = {}
        self.errors: list[BaseException] = []

    def run(self) -> None:
        doings = (
            [self.request] * 8 + [self.confirm] * 3 + [self.release] * 6 + [self.withdraw, self.abandon, self.edit]
            + [self.reset, self.pause, self.resume, self.declare, self.sweep, self.sweep, self.prune, self.look]
            + [self.vanish]
        )  # fmt: skip
        while time.monotonic() < self.until and not self.errors:
            doing = self.random.choice(doings)
            try:
                doing(self.random.choice(LIMITS))
            except EXPECTED:
                self.process = engine.join("client", name="session", db=self.db)
            except BaseException as error:
                self.errors.append(error)
            self.done[doing.__name__] = self.done.get(doing.__name__, 0) + 1
        self.db.close()

    def slot(self) -> str:
        return self.slots.pop(self.random.randrange(len(self.slots))) if self.slots else "none"

    def request(self, limit: str) -> None:
        key = f"key-{self.random.randrange(200)}"
        asked = engine.request(limit, key=key, timeout=HOUR, worker_id=self.process, db=self.db)
        if asked.slot_id is not None:
            self.slots.append(asked.slot_id)

    def confirm(self, limit: str) -> None:
        slot_id = self.slot()
        if engine.confirm(slot_id, db=self.db).state in ("busy", "waiting"):
            self.slots.append(slot_id)

    def release(self, limit: str) -> None:
        engine.release(self.slot(), actor=self.random.choice([CLIENT, OPERATOR]), db=self.db)

    def withdraw(self, limit: str) -> None:
        engine.withdraw(self.slot(), actor=CLIENT, db=self.db)

    def abandon(self, limit: str) -> None:
        engine.abandon(limit, f"key-{self.random.randrange(200)}", actor=CLIENT, db=self.db)

    def edit(self, limit: str) -> None:
        capacity, max_hold = self.random.randint(1, 9), self.random.choice([None, MINUTE, HOUR])
        engine.edit(limit, actor=OPERATOR, capacity=capacity, max_hold=max_hold, db=self.db)

    def reset(self, limit: str) -> None:
        engine.reset(limit, self.random.choice(["capacity", "max_hold"]), actor=OPERATOR, db=self.db)

    def pause(self, limit: str) -> None:
        engine.pause(limit, actor=OPERATOR, db=self.db)

    def resume(self, limit: str) -> None:
        for name in LIMITS:
            engine.resume(name, actor=OPERATOR, db=self.db)

    def declare(self, limit: str) -> None:
        names = list(LIMITS)
        self.random.shuffle(names)
        engine.declare(
            "tests",
            {name: engine.Declared(capacity=self.random.randint(1, 9), max_hold=HOUR) for name in names},
            db=self.db,
        )

    def sweep(self, limit: str) -> None:
        engine.sweep(db=self.db)

    def prune(self, limit: str) -> None:
        engine.prune(keep_days=0, batch=50, db=self.db)

    def look(self, limit: str) -> None:
        queries.limits(db=self.db)
        queries.slots(limit, state="waiting", db=self.db)
        engine.check(db=self.db)

    def vanish(self, limit: str) -> None:
        """Let all clients count as gone for long, so that the sweep withdraws and closes them."""
        self.db.fetch(
            "UPDATE limits.worker SET gone_since = gone_since - interval '20 seconds'"
            " WHERE id = (SELECT max(w.id) FROM limits.worker w WHERE w.gone_since IS NOT NULL) RETURNING id"
        )


def test_nothing_that_runs_beside_anything_deadlocks(
    declare: Declare, box: pool.Database, clock: Clock, server: Server
) -> None:
    """F8: on one and on several limits, with sweeps, edits, syncs and deletions: the server's log shows no deadlock."""
    declare(**dict.fromkeys(LIMITS, (3, HOUR)))
    read_from = server.log.stat().st_size
    until = time.monotonic() + SECONDS
    sessions = [Session(box.url, seed, until) for seed in range(SESSIONS)]
    for session in sessions:
        session.start()
    while time.monotonic() < until:
        clock.advance(MINUTE)
        time.sleep(0.2)
    for session in sessions:
        session.join(60)
        assert not session.is_alive()
    assert [error for session in sessions for error in session.errors] == []
    did: dict[str, Any] = {}
    for session in sessions:
        for name, count in session.done.items():
            did[name] = did.get(name, 0) + count
    assert len(did) == 14
    assert sum(did.values()) > 100 * SECONDS, did
    with server.log.open("rb") as log:
        log.seek(read_from)
        told = log.read().decode(errors="replace")
    assert "deadlock" not in told
    assert [line for line in told.splitlines() if "ERROR" in line or "FATAL" in line] == []
    engine.sweep()
