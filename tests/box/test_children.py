"""The processes of `stackbone dev`, real ones, one at a time."""

import asyncio
import io
import os
import signal
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from stackbone import children
from stackbone.children import Child, Guard, Log, Plan
from tests.box.conftest import eventually, gone

IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(99)"
)


class Stage:
    """A log in memory, a guardian, and children that are stopped at the end."""

    def __init__(self, *, coloured: bool = False) -> None:
        """Print into memory."""
        self.stream = io.BytesIO()
        self.log = Log(self.stream, coloured=coloured)
        self.guard = Guard()

    def child(self, code: str, **more: Any) -> Child:
        """Return a child that runs Python `code`."""
        command = [sys.executable, "-c", code]
        plan = Plan(name="child", command=command, cwd=Path("/"), env=dict(os.environ), **more)
        return Child(plan, log=self.log, guard=self.guard)

    @property
    def lines(self) -> list[str]:
        """What stands in the log."""
        return self.stream.getvalue().decode().splitlines()

    async def says(self, text: str) -> None:
        """Wait until a line of the log holds `text`."""
        async with asyncio.timeout(60):
            while not any(text in line for line in self.lines):
                await asyncio.sleep(0.02)


def play(scene: Callable[[Stage], Awaitable[None]], *, coloured: bool = False) -> Stage:
    """Run a scene with a guardian and return what is left."""
    stage = Stage(coloured=coloured)

    async def whole() -> None:
        await stage.guard.start()
        try:
            await scene(stage)
        finally:
            await stage.guard.stop()

    asyncio.run(whole())
    return stage


def test_a_half_line_waits_for_its_end() -> None:
    """dev: one log of whole lines, each with its process's name, also where the last one has no end."""
    code = "import sys, os; os.write(1, b'half'); os.write(2, b' and half\\nsecond'); sys.exit(4)"

    async def scene(stage: Stage) -> None:
        assert await stage.child(code).run_once() == 4

    assert play(scene).lines == ["child     | half and half", "child     | second"]


def test_a_line_without_end_is_cut_into_pieces() -> None:
    """dev: what one process writes takes a bounded place in the supervisor's memory."""

    async def scene(stage: Stage) -> None:
        assert await stage.child("print('x' * 300_000)").run_once() == 0

    lines = play(scene).lines
    assert len(lines) > 1
    assert sum(line.count("x") for line in lines) == 300_000


def test_names_are_coloured_only_when_asked() -> None:
    """dev: a colour for each process on a terminal, none elsewhere."""

    async def scene(stage: Stage) -> None:
        await stage.child("print('hello')").run_once()

    assert play(scene, coloured=True).lines == ["\x1b[36mchild     |\x1b[0m hello"]
    assert play(scene).lines == ["child     | hello"]


def test_a_terminal_that_went_away_does_not_stop_the_stopping() -> None:
    """dev: after SIGHUP nobody reads any more, and everything is still stopped in order."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb", buffering=0) as stream:
        Log(stream, coloured=False).say("child", "unheard")


def test_a_process_that_crashes_is_started_again_after_growing_pauses() -> None:
    """dev: a crashed child is restarted with back-off, and the log says so."""

    async def scene(stage: Stage) -> None:
        child = stage.child("raise SystemExit(3)")
        child.start()
        await stage.says("again in 2 s")
        await child.stop()

    assert [line for line in play(scene).lines if "again" in line] == [
        f"child     | ended with exit code 3; starts again in {pause} s" for pause in ("0.5", "1", "2")
    ]


def test_the_pause_is_short_again_after_a_good_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """dev: the back-off starts anew when the process ran well."""
    monkeypatch.setattr(children, "RAN_WELL", 0.0)

    async def scene(stage: Stage) -> None:
        child = stage.child("raise SystemExit(3)")
        child.start()
        await stage.says("again in 0.5 s")
        async with asyncio.timeout(60):
            while child.endings < 3:
                await asyncio.sleep(0.02)
        await child.stop()

    assert "again in 1 s" not in "\n".join(play(scene).lines)


def test_a_program_that_is_not_there_is_reported_and_tried_again() -> None:
    """dev: a faulty command of a workspace is said in the log; the other processes go on."""

    async def scene(stage: Stage) -> None:
        plan = Plan(name="child", command=["/nowhere/program"], cwd=Path("/"), env={})
        child = Child(plan, log=stage.log, guard=stage.guard)
        child.start()
        await stage.says("/nowhere/program")
        await child.stop()

    assert "can't be started" in play(scene).lines[0]


def test_a_process_that_ignores_the_request_to_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """dev: SIGKILL after the grace time."""
    monkeypatch.setattr(children, "GRACE", 0.3)

    async def scene(stage: Stage) -> None:
        child = stage.child(IGNORES_TERM)
        child.start()
        await stage.says("up")
        await child.stop()

    assert play(scene).lines[-1] == "child     | did not stop within 0.3 s: killed"


def test_what_a_process_started_goes_with_it() -> None:
    """dev: a child's own children are not left behind when it ends."""
    code = "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(99)'],"
    code += " stdout=subprocess.DEVNULL).pid)"

    async def scene(stage: Stage) -> None:
        assert await stage.child(code).run_once() == 0

    grandchild = int(play(scene).lines[0].split("|")[1])
    eventually(lambda: not psutil.pid_exists(grandchild) or _is_zombie(grandchild), why="the grandchild lives")


def test_a_killed_guardian_is_replaced_and_knows_everybody() -> None:
    """dev: children never outlive a killed supervisor, even if their guardian was killed before."""

    async def scene(stage: Stage) -> None:
        child = stage.child(IGNORES_TERM)
        child.start()
        await stage.says("up")
        first = _guardian_of(stage)
        os.kill(first.pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            while (second := _guardian_of(stage)) is first:
                await asyncio.sleep(0.02)
        # What a killed supervisor does to the pipe.
        assert second.stdin is not None
        second.stdin.close()
        await stage.says("was killed by SIGKILL")
        await child.stop()

    play(scene)


def test_children_of_a_killed_supervisor_are_killed() -> None:
    """dev: a SIGKILLed `dev` leaves no process behind, not even one that ignores SIGTERM."""
    program = f"""
import asyncio, os, sys
from pathlib import Path
from stackbone.children import Child, Guard, Log, Plan
async def main():
    guard = Guard()
    await guard.start()
    plan = Plan(name="child", command=[sys.executable, "-c", {IGNORES_TERM!r}], cwd=Path("/"), env=dict(os.environ))
    Child(plan, log=Log(sys.stdout.buffer, coloured=False), guard=guard).start()
    await asyncio.sleep(99)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == b"child     | up\n"
        left = psutil.Process(supervisor.pid).children(recursive=True)
        assert len(left) == 2
        supervisor.send_signal(signal.SIGKILL)
    gone(left)


def _guardian_of(stage: Stage) -> Process:
    """Return the guardian that has been told of every child, not one that is only starting."""
    assert stage.guard._process is not None
    return stage.guard._process


def _is_zombie(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True
