"""A PostgreSQL of its own for every test run, started when the first test asks for it.

The file is a pytest plugin of its own (`-p tests.postgres`), because Django's settings are read
before any conftest: the address must stand in the environment by then. Folder, and with it the
address, are chosen at import; the server follows on demand.
"""

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

from stackbone import embedded
from stackbone.embedded import Embedded, EmbeddedError

DATABASE: Final = "test_box"
PREFIX: Final = "stackbone-tests-"

SETTINGS: Final = {
    "deadlock_timeout": "100ms",
    "log_line_prefix": "%m [%p] %d %a ",
    "log_lock_waits": "on",
    "max_connections": "300",
}


class Server:
    """One PostgreSQL in a temporary folder; a Unix socket in that folder is the only way in."""

    def __init__(self) -> None:
        """Choose the folder and lock it; no server starts yet."""
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        self.log = self.folder / "server.log"
        self._lock = _locked_file(self.folder)
        self._embedded = Embedded(self.folder)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def started(self) -> bool:
        """Tell whether `start` has been called."""
        return self._process is not None

    def url(self, database: str = DATABASE) -> str:
        """Return the address of `database`, good for psycopg, Django and child processes."""
        return self._embedded.url.replace("/postgres?", f"/{database}?")

    def start(self) -> None:
        """Remove what killed runs left behind, make the cluster, start it and wait until it answers."""
        sweep_leftovers()
        self._embedded.prepare()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*self._embedded.command(), *(f"--{name}={value}" for name, value in SETTINGS.items())],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=embedded.environment(),
                cwd="/",
                # Ctrl-C in the terminal is for the tests, which then stop the server.
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while not self._embedded.accepts():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise EmbeddedError(f"the tests' PostgreSQL does not start:\n{self.log.read_text()}")
            time.sleep(0.02)

    def remove(self) -> None:
        """Stop the server, if it was started, and remove its folder."""
        if self._process is not None:
            # Its immediate shutdown: nobody will ask for the data again.
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None
        self._embedded.remove_traces()
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def sweep_leftovers() -> None:
    """Stop and remove the servers of runs that were killed: nobody holds their lock any more."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/lock"):
        try:
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove_leftover(lock.parent)
        except (OSError, EmbeddedError):
            # Another run's, another user's, or removed by somebody else this moment.
            continue


def _locked_file(folder: Path) -> int:
    # The kernel drops the lock with the process, however it ends. The file gets its name only
    # when it is locked, so that no other run takes it for a leftover.
    unnamed = folder / "lock.new"
    file = os.open(unnamed, os.O_RDWR | os.O_CREAT)
    fcntl.flock(file, fcntl.LOCK_EX)
    unnamed.rename(folder / "lock")
    return file


def _remove_leftover(folder: Path) -> None:
    leftover = Embedded(folder)
    if leftover.data.exists():
        # Stops a server that still runs there.
        leftover.prepare()
        leftover.remove_traces()
    shutil.rmtree(folder, ignore_errors=True)


SERVER: Final = Server()
os.environ["STACKBONE_DATABASE_URL"] = SERVER.url()
# Playwright's synchronous interface keeps an event loop running in the thread of the tests.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def pytest_unconfigure() -> None:
    """Remove the server at the end of the run, after Ctrl-C too."""
    SERVER.remove()
