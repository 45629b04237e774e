"""Studio as a process of its own, on a free port, for tests with a real browser."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_START_WITHIN: Final = 60.0
"""Seconds."""


@contextmanager
def running(database_url: str) -> Iterator[str]:
    """Run daphne against a box, lend its address without a slash at the end, and stop it."""
    studio = Studio(database_url)
    try:
        studio.start()
        yield studio.address
    finally:
        studio.stop()


class Studio:
    """A Studio that can be stopped, killed, frozen and started again at the same address."""

    def __init__(self, database_url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._database_url = database_url
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once it answers."""
        with socket.create_server(("127.0.0.1", self.port)) as listening:
            self._process = _start(listening.fileno(), self._database_url)
        # The socket listens already: the request waits in it until daphne is up, and fails once daphne is gone.
        with urllib.request.urlopen(f"{self.address}/healthz", timeout=_START_WITHIN):
            pass

    def stop(self) -> None:
        """Stop it in order."""
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        self._wait()

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send(signal.SIGKILL)
        self._wait()

    def send(self, sign: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self._process is not None:
            self._process.send_signal(sign)

    def _wait(self) -> None:
        if self._process is not None:
            self._process.wait(timeout=20)
            self._process = None


def _start(fd: int, database_url: str) -> subprocess.Popen[bytes]:
    settings = {"STACKBONE_DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "studio.settings"}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "daphne", "-v", "0", "--fd", str(fd), "studio.asgi:application"],
        cwd=Path(__file__).resolve().parent.parent,
        env=os.environ | settings,
        pass_fds=[fd],
    )
