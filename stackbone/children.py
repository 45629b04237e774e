"""The processes of `stackbone dev`: started, logged, restarted when they crash, stopped, never left behind."""

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from stackbone import guardian

GRACE: Final = 10.0
"""Seconds from the request to stop until a process is killed."""
BACKOFF_FIRST: Final = 0.5
BACKOFF_MAX: Final = 30.0
RAN_WELL: Final = 60.0
"""Seconds after which an earlier crash no longer counts."""
LINE_MAX: Final = 64 * 1024

_COLOURS: Final = (36, 35, 33, 32, 34, 96, 95, 93, 92, 94)


class Log:
    """One stream of whole lines, each with the name of the process that wrote it."""

    def __init__(self, stream: BinaryIO, *, coloured: bool, width: int = 9) -> None:
        """Write to `stream`; names are padded to `width`."""
        self._stream = stream
        self._coloured = coloured
        self._width = width
        self._colours: dict[str, int] = {}

    def say(self, name: str, line: str) -> None:
        """Write one line of process `name`."""
        self.write(name, line.encode(errors="backslashreplace"))

    def write(self, name: str, line: bytes) -> None:
        """Write one line, given as the bytes that the process wrote, without its end."""
        prefix = f"{name:<{self._width}} |"
        if self._coloured:
            colour = self._colours.setdefault(name, _COLOURS[len(self._colours) % len(_COLOURS)])
            prefix = f"\x1b[{colour}m{prefix}\x1b[0m"
        # A terminal that went away must not keep the rest from being stopped in order.
        with suppress(OSError, ValueError):
            self._stream.write(prefix.encode() + b" " + line.rstrip(b"\r") + b"\n")
            self._stream.flush()

    async def copy(self, name: str, source: int) -> None:
        """Copy what a process writes to the pipe `source`, line by line, to its end; a half line waits for its end."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", buffering=0)
        )
        rest = b""
        try:
            while chunk := await reader.read(LINE_MAX):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self.write(name, line)
                if len(rest) > LINE_MAX:
                    self.write(name, rest)
                    rest = b""
        finally:
            if rest:
                self.write(name, rest)
            transport.close()


class Guard:
    """Our end of the guardian's pipe; what is registered here does not outlive us, even if we are killed."""

    def __init__(self) -> None:
        """Know nobody yet; `start` begins the guardian."""
        self._groups: dict[int, int] = {}
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the guardian, and start it again should it be killed."""
        await self._spawn()
        self._task = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Let the guardian end: nothing is registered any more."""
        if self._task is not None:
            self._task.cancel()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            await self._process.wait()

    def add(self, pid: int, sign: int) -> None:
        """Watch over the group of `pid`: if we are killed it gets the signal `sign`."""
        self._groups[pid] = sign
        self._tell(f"+ {pid} {sign}")

    def remove(self, pid: int) -> None:
        """Forget the group of `pid`: it has ended."""
        self._groups.pop(pid, None)
        self._tell(f"- {pid}")

    def signal_all(self, sign: int, *, instead: Mapping[int, int]) -> None:
        """Send every group `sign` now, or what `instead` maps its orphan's signal to."""
        for pid, orphan_sign in reversed(self._groups.items()):
            _signal_group(pid, instead.get(orphan_sign, sign))

    def _tell(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.write(f"{line}\n".encode())

    async def _spawn(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", guardian.__file__, stdin=PIPE, start_new_session=True, cwd="/"
        )
        for pid, sign in self._groups.items():
            self._tell(f"+ {pid} {sign}")

    async def _keep(self) -> None:
        while self._process is not None:
            await self._process.wait()
            await asyncio.sleep(BACKOFF_FIRST)
            await self._spawn()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to run: `command` in folder `cwd` with environment `env`, as process `name`."""

    name: str
    command: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    output: Path | None = None
    """A file for what it writes, instead of the common log."""
    stop_signal: int = signal.SIGTERM
    orphan_signal: int = signal.SIGKILL
    may_end: bool = False
    """Exit code 0 means that it is done, and is no crash."""
    before_start: Callable[[], None] | None = None
    """Run before each start, in a thread; an error counts as a crash."""


class Child:
    """A process that is started again when it ends, with a growing pause while it keeps crashing."""

    def __init__(self, plan: Plan, *, log: Log, guard: Guard) -> None:
        """Remember what to run; nothing runs yet."""
        self.plan = plan
        self._log = log
        self._guard = guard
        self._task: asyncio.Task[None] | None = None
        self.endings = 0
        """How often the process ended by itself."""

    def start(self) -> None:
        """Begin to keep the process running."""
        self._task = asyncio.create_task(self._keep_running())

    async def stop(self) -> None:
        """Ask the process to end, kill it after the grace time, and wait until it is gone."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def run_once(self) -> int:
        """Run the command to its end and return its exit code; a cancelled call stops the process."""
        process, copying = await self._spawn()
        self._guard.add(process.pid, self.plan.orphan_signal)
        try:
            return await process.wait()
        except asyncio.CancelledError:
            await self._end(process)
            raise
        finally:
            # Whatever it started and did not take along.
            _signal_group(process.pid, signal.SIGKILL)
            self._guard.remove(process.pid)
            if copying is not None:
                await asyncio.wait([copying], timeout=1)
                copying.cancel()

    async def _end(self, process: Process) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(self.plan.stop_signal)
        try:
            await asyncio.wait_for(process.wait(), GRACE)
        except TimeoutError:
            self._log.say(self.plan.name, f"did not stop within {GRACE:g} s: killed")
            _signal_group(process.pid, signal.SIGKILL)
            await process.wait()

    async def _keep_running(self) -> None:
        pause = BACKOFF_FIRST
        while True:
            began = time.monotonic()
            ending = await self._attempt()
            self.endings += 1
            if self.plan.may_end and ending is None:
                self._log.say(self.plan.name, "ended")
                return
            if time.monotonic() - began >= RAN_WELL:
                pause = BACKOFF_FIRST
            self._log.say(self.plan.name, f"{ending or 'ended'}; starts again in {pause:g} s")
            await asyncio.sleep(pause)
            pause = min(2 * pause, BACKOFF_MAX)

    async def _attempt(self) -> str | None:
        # How it ended, in words; none for exit code 0. Whatever went wrong here, the other processes go on.
        try:
            if self.plan.before_start is not None:
                await asyncio.to_thread(self.plan.before_start)
            code = await self.run_once()
        except Exception as error:
            return f"can't be started: {error}"
        return _ending(code)

    async def _spawn(self) -> tuple[Process, asyncio.Task[None] | None]:
        # A pipe of our own: asyncio's would count the process as running for as long as anybody holds its other end.
        plan, source = self.plan, None
        if plan.output is not None:
            target = os.open(plan.output, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        else:
            source, target = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *plan.command, stdin=DEVNULL, stdout=target, stderr=STDOUT, cwd=plan.cwd, env=dict(plan.env),
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            if source is not None:
                os.close(source)
            raise
        finally:
            os.close(target)
        return process, None if source is None else asyncio.create_task(self._log.copy(plan.name, source))


def _signal_group(pid: int, sign: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, sign)


def _ending(code: int) -> str | None:
    if code == 0:
        return None
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
