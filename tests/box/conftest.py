"""`stackbone dev` as a real process: start it, wait for what it says, signal it, look at what it left."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from limits import queries
from limits.pool import Database

CONFIG = """
from stackbone import define_workspace

workspace = define_workspace(
    limits={{"voice-calls": {{"capacity": 2, "max_hold": "45m"}}}},
    processes={processes!r},
)
"""
STACKBONE = (sys.executable, "-P", "-m", "stackbone")
PATIENCE = 60.0
"""Seconds that a busy machine may take for anything."""


def eventually[T](what: Callable[[], T], *, why: str, seconds: float = PATIENCE) -> T:
    """Return the first true answer of `what`; fail with `why` when none comes in time."""
    deadline = time.monotonic() + seconds
    while not (answer := what()):
        assert time.monotonic() < deadline, why
        time.sleep(0.05)
    return answer


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a person's shell, in which no database is named."""
    ours = ("STACKBONE_", "DATABASE_URL", "DJANGO_", "PG", "NO_COLOR")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | more


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_config(folder: Path, **processes: list[str]) -> Path:
    """Make `folder` a workspace with one limit and these processes, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stackbone_config.py").write_text(CONFIG.format(processes=processes))
    return folder


@dataclass
class Running:
    """A started `stackbone dev` and what it printed so far."""

    process: subprocess.Popen[bytes]
    workspace: Path
    printed: Path
    port: int

    @property
    def output(self) -> str:
        """All it printed so far."""
        return self.printed.read_text(errors="replace")

    @property
    def home(self) -> Path:
        """The folder that it keeps everything in."""
        return self.workspace / ".stackbone"

    @property
    def box(self) -> dict[str, Any]:
        """What box.json says."""
        found: dict[str, Any] = json.loads((self.home / "box.json").read_text())
        return found

    def says(self, pattern: str) -> re.Match[str]:
        """Wait until it printed something that matches."""

        def look() -> re.Match[str] | None:
            found = re.search(pattern, self.output, re.MULTILINE)
            assert found or self.process.poll() is None, self.output
            return found

        found = eventually(look, why=f"never said {pattern!r}")
        assert found
        return found

    def ready(self) -> "Running":
        """Wait until it printed Studio's address."""
        self.says(r"Studio: http")
        return self

    def database(self) -> Database:
        """Return a way into the box."""
        return Database(self.box["url"], size=1)

    def page(self) -> str | None:
        """Return Studio's first page, or nothing while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/limits/", timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            return None

    def child(self, part: str) -> psutil.Process:
        """Return the running child whose command line contains `part`."""

        def look() -> psutil.Process | None:
            return next((child for child in self.children() if part in " ".join(command_of(child))), None)

        found = eventually(look, why=f"no child {part!r}")
        assert found
        return found

    def children(self) -> list[psutil.Process]:
        """Return everything that it started and that still runs."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def postmaster(self) -> psutil.Process:
        """Return the box's PostgreSQL."""
        return psutil.Process(int((self.home / "postgres" / "postmaster.pid").read_text().split()[0]))

    def stop(self, sign: signal.Signals = signal.SIGINT) -> int:
        """Send it a signal and return its exit code."""
        self.process.send_signal(sign)
        return self.process.wait(PATIENCE)


def command_of(process: psutil.Process) -> list[str]:
    """Return a process's command line; an empty one if it is gone."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def gone(processes: list[psutil.Process]) -> None:
    """Wait until none of the processes runs any more."""

    def runs(process: psutil.Process) -> bool:
        try:
            return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            # It went between the two questions.
            return False

    def still() -> list[psutil.Process]:
        return [process for process in processes if runs(process)]

    eventually(lambda: not still(), why=f"still there: {[command_of(p) for p in still()]}")


def names_of(box: Database) -> list[str]:
    """Return the names of the limits declared in the box."""
    return [limit.name for limit in queries.limits(db=box)]


class Starter:
    """Starts `stackbone dev` as often as a test asks, and cleans up behind all of them."""

    def __init__(self, folder: Path) -> None:
        """Keep what the processes print in `folder`."""
        self.folder = folder
        self.started: list[Running] = []

    def __call__(self, workspace: Path, *, port: int | None = None, before: Sequence[str] = (), **env: str) -> Running:
        """Start it in `workspace`, by the command `before` if given; does not wait for anything."""
        port = port or free_port()
        printed = self.folder / f"dev-{len(self.started)}.log"
        with printed.open("wb") as output:
            process = subprocess.Popen(
                [*before, *STACKBONE, "dev", "--workspace", str(workspace), "--port", str(port)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment(**env),
            )  # fmt: skip
        self.started.append(Running(process, workspace, printed, port))
        return self.started[-1]

    def clean_up(self) -> None:
        """Stop whatever a test left running, its orphans too."""
        for running in self.started:
            left = running.children() if running.process.poll() is None else []
            if left:
                running.process.kill()
            running.process.wait(PATIENCE)
            gone(left)


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Starter]:
    """Lend `dev(workspace)`, which starts `stackbone dev` there."""
    starter = Starter(tmp_path)
    yield starter
    starter.clean_up()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Lend a workspace with one limit."""
    return write_config(tmp_path / "workspace")


def stackbone(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end and return what it printed."""
    return subprocess.run(
        [*STACKBONE, *arguments], env=environment(**env), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
