"""Real workers, real runs: start a worker in a workspace of its own, trigger, look, kill."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from limits import queries
from limits.pool import Database
from limits.queries import SlotRow
from stackbone import runs
from stackbone.client import Client
from tests.client import conftest as patience

HERE = Path(__file__).parent


def eventually(fact: Callable[[], Any], *, within: float = 60.0) -> Any:
    """Return what `fact` returns once it is true; a worker on a busy machine may take a while."""
    return patience.eventually(fact, within=within)


@pytest.fixture(autouse=True)
def plain_thread() -> Iterator[None]:
    """Give the test a thread with no event loop, as a script has: the browser's driver leaves its own marked as running."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


@dataclass
class Worker:
    """A worker's process and what it printed."""

    process: subprocess.Popen[bytes]
    printed: Path

    @property
    def output(self) -> str:
        return self.printed.read_text(errors="replace")

    def ready(self) -> "Worker":
        """Wait until it runs workflows."""

        def look() -> bool:
            assert self.process.poll() is None, self.output
            return "is ready" in self.output

        eventually(look)
        return self

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait(30)

    def dies(self) -> None:
        """Wait until it was killed from within."""
        assert self.process.wait(60) == -signal.SIGKILL, self.output

    def stop(self) -> int:
        """SIGTERM; return its exit code."""
        self.process.terminate()
        return self.process.wait(30)


@dataclass
class Workspace:
    """A workspace of the tests, with its box and its workers."""

    folder: Path
    box: Database
    client: Client
    workers: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Remember when the test began, by the database's clock."""
        [row] = self.box.fetch("SELECT clock_timestamp() AS now")
        self.begun: datetime = row["now"]

    def worker(self, *arguments: str, dies: str | None = None) -> Worker:
        """Start a worker; `dies` names the moment of `dying_worker` at which it is killed."""
        printed = self.folder / f"worker-{len(self.workers)}.log"
        command = [str(HERE / "dying_worker.py"), dies] if dies else ["-m", "stackbone"]
        root = str(HERE.parent.parent)
        with printed.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *command, "worker", "--workspace", str(self.folder), *arguments],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=os.environ | {"STEPS": str(self.folder), "PYTHONPATH": root, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
        self.workers.append(Worker(process, printed))
        return self.workers[-1]

    def trigger(self, workflow: str, input: Any = None) -> str:
        """Start a run and return its id."""
        return self.client.trigger(workflow, input)

    def call(self, call_id: str, timeout: str = "30m") -> str:
        """Start a run of place_call."""
        return self.trigger("place_call", {"call_id": call_id, "timeout": timeout})

    def result(self, run_id: str) -> Any:
        """Wait for a run's output."""
        return self.client.result(run_id, timeout="60s")

    def run(self, run_id: str) -> runs.Run:
        """Return a run that exists."""
        found = runs.run(run_id, db=self.box)
        assert found is not None
        return found

    def slots(self, run_id: str) -> list[SlotRow]:
        """Return the slots of a run."""
        return queries.slots_of_run(run_id, db=self.box)

    def waits(self, run_id: str, state: str = "waiting") -> SlotRow:
        """Wait until a run's latest slot is in `state`, and return it."""

        def look() -> SlotRow | None:
            slots = self.slots(run_id)
            return slots[-1] if slots and slots[-1].state == state else None

        found = eventually(look)
        assert found is not None
        return found

    def busy(self, limit: str = "voice-calls") -> SlotRow:
        """Wait until one slot is busy, and return it."""

        def look() -> list[SlotRow]:
            return queries.slots(limit, state="busy", db=self.box).items

        return eventually(look)[0]

    def queue(self, limit: str = "voice-calls") -> list[str | None]:
        """Return the labels of those who wait, in order."""
        return [slot.label for slot in queries.slots(limit, state="waiting", count=1_000, db=self.box).items]

    def queued(self, *labels: str) -> None:
        """Wait until exactly these wait, in this order."""
        eventually(lambda: self.queue() == list(labels))

    def steps(self) -> list[str]:
        """Return the lines that the steps left."""
        file = self.folder / "steps"
        return file.read_text().splitlines() if file.exists() else []

    def connections(self) -> int:
        """Count what its one running worker has open: a Studio of the browser's tests may be connected beside it."""
        [found] = self.box.fetch(
            "SELECT count(*) AS count FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name NOT IN ('tests', 'stackbone client') AND backend_start > %s",
            [self.begun],
        )
        return int(found["count"])

    def let(self, name: str) -> None:
        """Let those go on who wait for `name`."""
        (self.folder / name).touch()

    def clean_up(self) -> None:
        """Kill what a test left running."""
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.kill()


@pytest.fixture
def workspace(tmp_path: Path, box: Database) -> Iterator[Workspace]:
    """Lend a workspace with the tests' workflows, over an empty box."""
    folder = tmp_path / "workspace"
    shutil.copytree(HERE / "workspace", folder)
    with Client(os.environ["STACKBONE_DATABASE_URL"]) as client:
        lent = Workspace(folder, box, client)
        yield lent
        lent.clean_up()
