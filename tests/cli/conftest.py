"""`stackbone` as people and scripts run it: a process of its own, its two outputs, its exit code."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from limits import engine
from limits.pool import Database

STACKBONE = (sys.executable, "-P", "-m", "stackbone")
PATIENCE = 60.0
"""Seconds that a busy machine may take for anything."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def refusal(self) -> str:
        """The one line of an error; nothing may stand on standard output beside it."""
        assert self.code != 0, self
        assert self.stdout == ""
        return self.complaint

    @property
    def complaint(self) -> str:
        """The one line on standard error."""
        (line,) = self.stderr.splitlines()
        assert line.startswith("Error: ")
        assert line.isprintable()
        return line.removeprefix("Error: ")


type Cli = Callable[..., Done]


def run(*arguments: str | bytes, env: dict[str, str] | None = None, **more: Any) -> Done:
    """Run `stackbone` with these arguments; keywords go to `subprocess.run`."""
    done = subprocess.run(
        [*STACKBONE, *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        **{"stdin": subprocess.DEVNULL, **more},
    )
    found = Done(code=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode())
    assert "Traceback" not in found.stdout + found.stderr, found.stderr
    return found


@pytest.fixture
def cli(box: Database, tmp_path: Path) -> Cli:
    """Lend `cli("list", "--json")`, which runs `stackbone limits …` against the box."""

    def cli(*arguments: str | bytes, **more: Any) -> Done:
        return run("limits", *arguments, **{"cwd": tmp_path, **more})

    return cli


_keys = count()


def ask(limit: str, times: int = 1, **more: Any) -> list[str]:
    """Ask for slots, each under a key of its own, and return their ids in order."""
    return [str(engine.request(limit, key=f"key-{next(_keys)}", **more).slot_id) for _ in range(times)]
