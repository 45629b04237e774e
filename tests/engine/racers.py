"""A program whose many processes take and give back slots of one limit as fast as they can, and are killed at random.

    python -m tests.engine.racers <limit> <pairs> <processes> <slots at once> <kills> [tolerant]

It ends when so many pairs of acquire and release are done, with all processes killed in the middle of whatever they
did, and prints how many pairs it heard of. Any error of a process ends it with 1, unless it is tolerant.
"""

import itertools
import os
import random
import select
import signal
import sys
import time
from typing import Final

from limits import engine, pool, rules
from tests.aging import let_gone_vanish

PATIENCE: Final = 0.3
"""Seconds without a pair until dead holders and dead heads of the queue are helped out by the clock."""
TOLERANCE: Final = 8.0
"""Seconds after which tolerant racers end anyway: a broken engine may stand still."""
ACTOR: Final = engine.Actor(name="racer", source="client")


class Racer:
    """What one process does, until it is killed."""

    def __init__(self, limit: str, report: int) -> None:
        self.limit, self.report, self.parent = limit, report, os.getppid()
        self.db = pool.Database(_url(), application_name="racer", size=1)
        self.process = engine.join("client", name="racer", db=self.db)
        self.session = self.db.connect()
        self.session.execute("SELECT pg_advisory_lock(%s, %s)", (engine.PROCESS_LOCK_CLASS, self.process))
        self.session.execute("LISTEN limits_wake")

    def run(self, at_once: int, tolerant: bool) -> None:
        for turn in itertools.count():
            try:
                held = [self.acquire(f"{os.getpid()}-{self.process}-{turn}-{n}") for n in range(at_once)]
                for slot_id in held:
                    if slot_id is not None and engine.release(slot_id, actor=ACTOR, db=self.db).released:
                        os.write(self.report, b".")
            except Exception:
                if not tolerant:
                    raise

    def acquire(self, key: str) -> str | None:
        asked = engine.request(self.limit, key=key, timeout=rules.TIMEOUT_MAX, worker_id=self.process, db=self.db)
        slot_id, state = str(asked.slot_id), asked.state
        while state in ("waiting", "reserved"):
            if state == "waiting":
                self.wait_for(slot_id)
            state = engine.confirm(slot_id, db=self.db).state
        return slot_id if state == "busy" else None

    def wait_for(self, slot_id: str) -> None:
        if os.getppid() != self.parent:
            os._exit(0)
        for notification in self.session.notifies(timeout=PATIENCE):
            if notification.payload == slot_id:
                return


def _start(limit: str, report: int, at_once: int, tolerant: bool) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        Racer(limit, report).run(at_once, tolerant)
    except BaseException as error:
        print(f"racer {os.getpid()}: {error!r}", file=sys.stderr, flush=True)
    os._exit(1)


def _url() -> str:
    url = pool.database_url()
    assert url is not None
    return url


def _let_time_pass() -> None:
    """Let max hold and the 20 seconds of the vanished pass: whatever the dead had goes to the living."""
    db = pool.Database(_url(), application_name="racers", size=1)
    db.fetch(
        "INSERT INTO limits.clock_shift AS now (id, shift) VALUES (true, %s)"
        " ON CONFLICT (id) DO UPDATE SET shift = now.shift + excluded.shift RETURNING shift",
        [random.choice([rules.RESERVATION, rules.HOUR])],
    )
    let_gone_vanish(db)
    engine.sweep(db=db)
    db.close()


def main() -> None:
    limit, *numbers = sys.argv[1:6]
    pairs, processes, at_once, kills = map(int, numbers)
    tolerant = "tolerant" in sys.argv[6:]
    reports, report = os.pipe()
    running = [_start(limit, report, at_once, tolerant) for _ in range(processes)]
    done, killed, heard_at, ends_at = 0, 0, time.monotonic(), time.monotonic() + TOLERANCE
    while done < pairs and not (tolerant and time.monotonic() > ends_at):
        if select.select([reports], [], [], PATIENCE)[0]:
            done += len(os.read(reports, 65_536))
            heard_at = time.monotonic()
        elif time.monotonic() - heard_at > PATIENCE:
            _let_time_pass()
        if killed < kills and done >= pairs * (killed + 1) // (kills + 1):
            chosen = random.randrange(processes)
            _kill(running[chosen])
            running[chosen] = _start(limit, report, at_once, tolerant)
            killed += 1
            _let_time_pass()
    for pid in running:
        _kill(pid)
    print(done, flush=True)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    _pid, status = os.waitpid(pid, 0)
    if not os.WIFSIGNALED(status):
        sys.exit(1)


if __name__ == "__main__":
    main()
