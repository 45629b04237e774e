"""What the client's tests share: a client, a relay to lose its connections with, programs that ask, and patience."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from limits import engine, pool, queries
from stackbone.client import Client
from tests.relay import Relay

ACTOR = engine.Actor(name="test", source="client")


def eventually(fact: Callable[[], Any], *, within: float = 10.0) -> Any:
    """Return what `fact` returns once it is true; fail if it has not become so in time."""
    give_up_at = time.monotonic() + within
    while not (value := fact()):
        assert time.monotonic() < give_up_at, "it did not come true in time"
        time.sleep(0.01)
    return value


def labels(limit: str, state: str) -> list[str | None]:
    """Return the labels of a limit's slots in one state, in the screen's order."""
    return [slot.label for slot in queries.slots(limit, state=state).items]


def fill(limit: str, *, times: int = 1) -> list[str]:
    """Take slots and return their ids."""
    slots = [engine.request(limit, key=f"fill-{os.urandom(8).hex()}", timeout=0) for _ in range(times)]
    assert {slot.state for slot in slots} == {"busy"}
    return [str(slot.slot_id) for slot in slots]


def release(slot_id: str) -> bool:
    """Give a slot back, as another program would."""
    return engine.release(slot_id, actor=ACTOR).released


class InThread(threading.Thread):
    """A call in a thread of its own; its result, or its error, comes out of `outcome`."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._call = call
        self._outcome: queue.Queue[tuple[bool, Any]] = queue.Queue()
        self.start()

    def run(self) -> None:
        try:
            self._outcome.put((True, self._call()))
        except BaseException as error:
            self._outcome.put((False, error))

    def outcome(self, within: float = 10.0) -> Any:
        done, value = self._outcome.get(timeout=within)
        if not done:
            raise value
        return value


class Program:
    """A process whose lines of output are read one at a time."""

    def __init__(self, *command: str, environment: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | (environment or {}),
            # A group of its own: what it forks holds its pipe too, and ends with it.
            start_new_session=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.strip())

    def line(self, within: float = 60.0) -> str:
        return self._lines.get(timeout=within)

    def say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(5)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


type Start = Callable[..., Program]


@pytest.fixture
def start() -> Iterator[Start]:
    """Lend `start(…arguments of python…)`; what still runs at the end is killed."""
    with ExitStack() as running:

        def start(*command: str, environment: dict[str, str] | None = None) -> Program:
            program = Program(*command, environment=environment)
            running.callback(program.end)
            return program

        yield start


@pytest.fixture
def ask(start: Start) -> Callable[..., Program]:
    """Lend `ask(limit, label, timeout=…, key=…)`: a process that asks for a slot, after it has begun to."""

    def ask(limit: str, label: str, *, timeout: int = 3_600_000, key: str | None = None) -> Program:
        program = start("-m", "tests.client.asker", limit, label, str(timeout), *([key] if key else []))
        assert program.line() == "asking"
        return program

    return ask


@pytest.fixture
def relay(box: pool.Database) -> Iterator[Relay]:
    """Lend a relay that leads to the box."""
    relay = Relay(box.url)
    yield relay
    relay.remove()


@pytest.fixture
def client(box: pool.Database) -> Iterator[Client]:
    """Lend a client of the box."""
    with Client() as client:
        yield client


@pytest.fixture
def far_client(relay: Relay) -> Iterator[Client]:
    """Lend a client that reaches the box through the relay."""
    with Client(relay.url) as client:
        yield client
        relay.pass_answers()
