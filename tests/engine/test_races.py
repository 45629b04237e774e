"""Many processes at once, killed at random, checked afterwards from what they left behind.

`STACKBONE_LONG_PROOFS=1` makes it the long form.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from limits import engine, install, pool
from limits.rules import HOUR
from tests.aging import let_gone_vanish
from tests.conftest import Clock
from tests.engine import ledger
from tests.engine.steps import counts

type Declare = Callable[..., engine.Synced]

LONG: Final = bool(os.environ.get("STACKBONE_LONG_PROOFS"))
PAIRS: Final = 10_000 if LONG else 600
KILLS: Final = 100 if LONG else 12
PROCESSES: Final = 16


@pytest.fixture
def kept(box: pool.Database) -> Iterator[None]:
    """Keep a ledger of all that happens to slots."""
    with ledger.kept(box):
        yield


def run_racers(limit: str, *, pairs: int, at_once: int, kills: int, tolerant: bool = False) -> int:
    """Run the racers and return how many pairs they told of."""
    done = subprocess.run(
        [
            sys.executable, "-m", "tests.engine.racers", limit,
            str(pairs), str(PROCESSES), str(at_once), str(kills), *(["tolerant"] if tolerant else []),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=1_500 if LONG else 240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert tolerant or not done.stderr, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize(("capacity", "at_once"), [(1, 1), (3, 1), (20, 2)])
def test_whoever_is_killed_no_rule_is_broken(
    declare: Declare, box: pool.Database, clock: Clock, kept: None, capacity: int, at_once: int
) -> None:
    """A3, Q1, Q2, Q7, F6: never over capacity, in order, nobody lost, and what the dead held comes back."""
    declare(a=(capacity, HOUR))
    told = run_racers("a", pairs=PAIRS, at_once=at_once, kills=KILLS)
    assert told >= PAIRS
    assert ledger.faults(box, "a") == []
    assert engine.check() == []
    released = box.fetch("SELECT count(*) FROM limits.slot WHERE state = 'released'")[0]["count"]
    # Who was killed between its release and telling of it has released one more than it told.
    assert told <= released <= told + (KILLS + PROCESSES) * at_once
    give_back_what_the_dead_hold(box, clock)
    assert counts("a") == (0, 0, 0)
    assert ledger.faults(box, "a") == []
    assert box.fetch("SELECT count(*) FROM limits.slot WHERE ended_at IS NULL") == [{"count": 0}]


def give_back_what_the_dead_hold(box: pool.Database, clock: Clock) -> None:
    """Let everything pass that the rules wait for: the sessions' 20 seconds, max hold."""
    while box.fetch("SELECT FROM limits.worker WHERE ended_at IS NULL AND gone_since IS NULL"):
        engine.sweep()
    let_gone_vanish(box)
    engine.sweep()
    clock.advance(HOUR)
    engine.sweep()


@pytest.fixture
def release_without_lock(box: pool.Database) -> Iterator[None]:
    """Put a release in place that forgets the limit's lock."""
    text = (install.SQL / "release.sql").read_text(encoding="utf-8").replace("CREATE", "CREATE OR REPLACE", 1)
    lock = "l := limits.lock_limit(v_limit_id);"
    assert lock in text
    with box.connection() as connection:
        connection.execute(text.replace(lock, "SELECT x.* INTO l FROM limits.limit x WHERE x.id = v_limit_id;"))
    yield
    with box.connection() as connection:
        connection.execute(text)
        # What the fault left is no fault of the next test's.
        connection.execute("TRUNCATE limits.slot")
        connection.execute("UPDATE limits.limit SET busy = 0, reserved = 0, waiting = 0")


def test_a_release_that_forgets_the_lock_is_found_out(
    declare: Declare, box: pool.Database, kept: None, release_without_lock: None
) -> None:
    """A3: the check of these races can fail."""
    declare(a=(3, HOUR))
    run_racers("a", pairs=600, at_once=1, kills=0, tolerant=True)
    assert ledger.faults(box, "a") != []
