"""Several that start at once sync one after the other."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from limits import engine, pool, queries
from limits.rules import HOUR
from tests.engine.locks import SYNC_LOCK, Contender, see_waiting
from tests.engine.steps import hold, ids, wait

type Declare = Callable[..., engine.Synced]

SYNC = """
from limits import engine, pool
db = pool.Database(pool.database_url(), application_name="syncing")
synced = engine.declare("tests", {"a": engine.Declared(capacity=3, max_hold=3_600_000)}, db=db)
db.close()
print(synced.added, synced.changed, synced.granted)
"""


@pytest.mark.parametrize("known", [True, False], ids=["a raised limit", "a new database"])
def test_eight_processes_that_start_at_once_sync_once(declare: Declare, box: pool.Database, known: bool) -> None:
    """D6, D7: one finds something to do; waiters are granted once, and the record has one entry."""
    if known:
        declare(a=(1, HOUR))
        hold("a")
        waiting = [wait("a") for _ in range(4)]
    with box.connection() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [SYNC_LOCK])
        processes = [
            subprocess.Popen([sys.executable, "-c", SYNC], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
            for _ in range(8)
        ]
        see_waiting(box, "syncing", sessions=8)
    told = sorted(process.communicate(timeout=60)[0].strip() for process in processes)
    assert {process.returncode for process in processes} == {0}
    assert told == sorted(["[] [] 0"] * 7 + ["[] ['a'] 2" if known else "['a'] [] 0"])
    if known:
        assert ids("a", "reserved") == waiting[:2]
    assert [change.kind for change in queries.changes().items] == (["capacity", "declare"] if known else ["declare"])


def test_one_of_two_workspaces_that_start_at_once_gets_the_database(box: pool.Database) -> None:
    """D6: the other is refused."""
    with box.connection() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s, 0)", [SYNC_LOCK])
        starting = []
        for name in ("one", "two"):
            starting.append(Contender(box, name, lambda db, name=name: engine.declare(name, {}, db=db)))
            see_waiting(box, name)
    first, second = (contender.outcome() for contender in starting)
    assert isinstance(first, engine.Synced)
    assert "'one', not to 'two'" in str(second)
