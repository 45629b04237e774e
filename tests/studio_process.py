"""Studio as a process of its own, on a free port, for tests with a real browser."""

import os
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
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        process = _start(listening.fileno(), database_url)
    try:
        # The socket listens already: the request waits in it until daphne is up, and fails once daphne is gone.
        with urllib.request.urlopen(f"{address}/healthz", timeout=_START_WITHIN):
            yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def _start(fd: int, database_url: str) -> subprocess.Popen[bytes]:
    settings = {"STACKBONE_DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "studio.settings"}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "daphne", "-v", "0", "--fd", str(fd), "studio.asgi:application"],
        cwd=Path(__file__).resolve().parent.parent,
        env=os.environ | settings,
        pass_fds=[fd],
    )
