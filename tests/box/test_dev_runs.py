"""`stackbone dev` with workflows: the whole box dies and comes back, and no run is lost."""

import shutil
import signal
from pathlib import Path

import psutil

from limits import queries
from limits.pool import Database
from stackbone import runs
from stackbone.client import Client
from stackbone.embedded import Embedded
from tests.box.conftest import Running, Starter, eventually
from tests.workflows.conftest import HERE

WAITING = 20


def test_the_database_restarts_while_the_box_recovers(dev: Starter, tmp_path: Path) -> None:
    """Case 58, Q2: killed with runs waiting; at three moments of the recovery the database goes away again."""
    folder = tmp_path / "workspace"
    shutil.copytree(HERE / "workspace", folder)
    first = dev(folder, STEPS=str(folder)).ready()
    url = first.box["url"]
    with Client(url) as client:
        box = first.database()
        eventually(lambda: runs.workflows(db=box), why="no workflow is known")
        holder = client.result(client.trigger("place_call", {"call_id": "holder"}), timeout="60s")
        waiting = [client.trigger("place_call", {"call_id": str(number)}) for number in range(WAITING)]
        eventually(lambda: len(_queue(box)) == WAITING, why="they do not wait")
        order = _queue(box)
        box.close()
    first.process.kill()

    second = dev(folder, STEPS=str(folder))
    for moment in ("a worker runs", "it is connected", "runs are taken up"):
        second.child("worker")
        if moment != "a worker runs":
            eventually(lambda: _connected(second), why="the worker does not connect")
        if moment == "runs are taken up":
            eventually(lambda: _taken_up(second), why="no run is taken up")
        _restart(second)
    second.ready()
    assert _queue(second.database()) == order
    with Client(second.box["url"]) as client:
        slot_id = holder["slot_id"]
        for label in order:
            client.release(slot_id)
            slot_id = eventually(lambda label=label: _held(second, label), why=f"{label} never got its slot")
        for run_id in waiting:
            client.result(run_id, timeout="60s")


def _queue(box: Database) -> list[str | None]:
    return [slot.label for slot in queries.slots("voice-calls", state="waiting", db=box).items]


def _held(dev: Running, label: str | None) -> str | None:
    busy = queries.slots("voice-calls", state="busy", db=dev.database()).items
    return busy[0].id if busy and busy[0].label == label else None


def _restart(dev: Running) -> None:
    postmaster = dev.postmaster()
    postmaster.send_signal(signal.SIGQUIT)
    psutil.wait_procs([postmaster], timeout=30)
    eventually(lambda: _answers(dev), why="PostgreSQL does not come back")


def _answers(dev: Running) -> bool:
    try:
        return dev.postmaster().is_running() and bool(_fetch(dev, "SELECT 1 AS one"))
    except Exception:
        return False


def _connected(dev: Running) -> bool:
    return bool(_fetch(dev, "SELECT 1 AS one FROM pg_stat_activity WHERE application_name = 'stackbone worker'"))


def _taken_up(dev: Running) -> bool:
    return bool(_fetch(dev, "SELECT 1 AS one FROM dbos.workflow_status WHERE status = 'PENDING' LIMIT 1"))


def _fetch(dev: Running, statement: str) -> list[object]:
    database = Database(_url(dev), size=1)
    try:
        return list(database.fetch(statement))  # type: ignore[arg-type]
    except Exception:
        return []
    finally:
        database.close()


def _url(dev: Running) -> str:
    return Embedded(dev.home).url
