"""`stackbone dev`: one workspace's box on this machine, from its PostgreSQL to Studio, in one terminal.

Everything it keeps lies in `<workspace>/.stackbone`. The lock there is the kernel's and dies with the process, and a
guardian ends the children of a killed `dev`, so whatever happened, the next start finds nothing in its way.
"""

import asyncio
import fcntl
import json
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import psycopg
from psycopg.conninfo import make_conninfo

from limits import engine, pool
from limits.errors import LimitsError
from stackbone import embedded
from stackbone.box_file import BOX_FILE
from stackbone.children import Child, Guard, Log, Plan
from stackbone.commands import MIGRATE, OURS, SETTINGS, STACKBONE, program_of, studio_command
from stackbone.embedded import Embedded, EmbeddedError
from stackbone.workspace import Workspace

OLDEST_SERVER: Final = 15
"""The oldest PostgreSQL that serves a box."""
DATABASE_WAIT: Final = 4.0
"""Seconds until a database that does not answer is an error (C2: under 5)."""
POSTGRES_WAIT: Final = 120.0
"""Seconds that our own PostgreSQL may take to start: after a kill it first repairs its files."""
PORT_WAIT: Final = 3.0
"""Seconds that the processes of a killed `dev` may take to give the port back."""
_LOG_MAX: Final = 1_000_000


class StartError(Exception):
    """`stackbone dev` can't start here and now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dev:
    """What `stackbone dev` was asked to run."""

    directory: Path
    """The workspace's folder, absolute."""
    workspace: Workspace
    host: str
    port: int

    @property
    def home(self) -> Path:
        """The folder of everything that the box keeps."""
        return self.directory / ".stackbone"

    @property
    def box_file(self) -> Path:
        """The file that tells the command line where the running box is."""
        return self.directory / BOX_FILE

    @property
    def studio_url(self) -> str:
        """Where Studio answers."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


def run(dev: Dev) -> int:
    """Run the box until it is told to stop and return the exit code.

    Raises `StartError` or `EmbeddedError`, with the reason in one line, if it can't start.
    """
    with _lock(dev):
        was_killed = dev.box_file.exists()
        dev.box_file.unlink(missing_ok=True)
        _check_port(dev, patience=PORT_WAIT if was_killed else 0)
        return asyncio.run(_Supervisor(dev).run())


class _Supervisor:
    """The running box: its log, its guardian and, in the order of their start, its processes."""

    def __init__(self, dev: Dev) -> None:
        self.dev = dev
        coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        names = ["stackbone", *dev.workspace.processes]
        self.log = Log(sys.stdout.buffer, coloured=coloured, width=max(map(len, names)))
        self.guard = Guard()

    async def run(self) -> int:
        """Live until a signal comes; then stop everything in reverse order."""
        living = asyncio.create_task(self._live())
        self._obey_signals(living)
        try:
            await living
        except asyncio.CancelledError:
            self.log.say("stackbone", "stopped")
        return 0

    def _obey_signals(self, living: asyncio.Task[None]) -> None:
        def stop(sign: signal.Signals) -> None:
            if not living.cancelling():
                self.log.say("stackbone", f"{sign.name}: stopping; Ctrl-C again to stop at once")
                living.cancel()
            elif sign is signal.SIGINT:
                # PostgreSQL's immediate shutdown loses nothing, it only has to repair its files at the next start.
                self.guard.signal_all(signal.SIGKILL, instead={signal.SIGINT: signal.SIGQUIT})
                self.dev.box_file.unlink(missing_ok=True)
                os._exit(130)

        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # A shell's `nohup` asks us to outlive the terminal.
            if sign is not signal.SIGHUP or signal.getsignal(sign) is not signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(sign, stop, sign)

    async def _live(self) -> None:
        async with AsyncExitStack() as running:
            await self.guard.start()
            running.push_async_callback(self.guard.stop)
            url = pool.database_url() or await self._start_postgres(running)
            await _check_server(url)
            env = self._environment(url)
            await self._migrate(env)
            await self._declare(url)
            for plan in self._plans(env):
                self._start(plan, running)
            await self._studio_listens()
            _write_privately(self.dev.box_file, self._box(url))
            running.callback(self.dev.box_file.unlink, missing_ok=True)
            self.log.say("stackbone", "Ctrl-C stops everything")
            self.log.say("stackbone", f"Studio: {self.dev.studio_url}")
            await asyncio.get_running_loop().create_future()

    def _start(self, plan: Plan, running: AsyncExitStack) -> Child:
        child = Child(plan, log=self.log, guard=self.guard)
        child.start()
        running.push_async_callback(child.stop)
        return child

    async def _start_postgres(self, running: AsyncExitStack) -> str:
        server = Embedded(self.dev.home)
        await asyncio.to_thread(server.prepare)
        _start_log_anew(server.log)
        running.callback(server.remove_traces)
        child = self._start(
            Plan(
                name="postgres",
                command=server.command(),
                cwd=Path("/"),
                env=embedded.environment(),
                output=server.log,
                stop_signal=signal.SIGINT,
                orphan_signal=signal.SIGINT,
                before_start=server.prepare,
            ),
            running,
        )
        deadline = time.monotonic() + POSTGRES_WAIT
        while not await asyncio.to_thread(server.accepts):
            if child.endings > 1 or time.monotonic() > deadline:
                raise EmbeddedError(f"PostgreSQL does not start: {server.last_words()} (all of it: {server.log})")
            await asyncio.sleep(0.05)
        return server.url

    def _environment(self, url: str) -> dict[str, str]:
        settings = {
            "STACKBONE_DATABASE_URL": url,
            "STACKBONE_WORKSPACE": str(self.dev.directory),
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            "PYTHONUNBUFFERED": "1",
        }
        if not os.environ.get("STACKBONE_SECRET_KEY") and not os.environ.get("STACKBONE_SECRET_KEY_FILE"):
            settings["STACKBONE_SECRET_KEY"] = _secret_key(self.dev.home / "secret_key")
        return dict(os.environ) | settings

    async def _migrate(self, env: Mapping[str, str]) -> None:
        plan = Plan(name="migrate", command=[*MIGRATE, "--verbosity", "0"], cwd=OURS, env=env)
        code = await Child(plan, log=self.log, guard=self.guard).run_once()
        if code != 0:
            raise StartError(f"the database could not be migrated (exit code {code}); see the lines above")

    async def _declare(self, url: str) -> None:
        workspace = self.dev.workspace
        database = pool.Database(url, application_name="stackbone dev")
        try:
            synced = await asyncio.to_thread(engine.declare, workspace.name, workspace.limits, db=database)
        except LimitsError as error:
            raise StartError(str(error)) from error
        finally:
            database.close()
        for verb, names in (("new", synced.added), ("changed", synced.changed), ("no longer declared", synced.removed)):
            if names:
                self.log.say("stackbone", f"limits {verb}: {', '.join(names)}")

    def _plans(self, env: Mapping[str, str]) -> list[Plan]:
        dev = self.dev
        worker = [*STACKBONE, "worker", "--no-sync", "--tolerant", "--workspace", str(dev.directory)]
        plans = [
            Plan(name="studio", command=studio_command(dev.host, dev.port), cwd=OURS, env=env),
            Plan(name="worker", command=worker, cwd=dev.directory, env=env),
        ]
        for name, command in dev.workspace.processes.items():
            plans.append(Plan(name=name, command=program_of(command), cwd=dev.directory, env=env, may_end=True))
        return plans

    async def _studio_listens(self) -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection(self.dev.host, self.dev.port)
                writer.close()
                return
            await asyncio.sleep(0.05)

    def _box(self, url: str) -> str:
        return json.dumps({"url": url, "studio": self.dev.studio_url, "pid": os.getpid()})


def _lock(dev: Dev) -> IO[str]:
    try:
        dev.home.mkdir(exist_ok=True)
        with suppress(FileExistsError), (dev.home / ".gitignore").open("x") as ignore:
            ignore.write("*\n")
        file = (dev.home / "lock").open("a+")
    except OSError as error:
        raise StartError(f"can't write to {dev.home}: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise StartError(f"stackbone dev already runs in {dev.directory} (process {holder})") from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def _check_port(dev: Dev, *, patience: float) -> None:
    family = socket.AF_INET6 if ":" in dev.host else socket.AF_INET
    deadline = time.monotonic() + patience
    while True:
        with socket.socket(family) as probe:
            # Like Studio itself: connections that are about to close don't count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((dev.host, dev.port))
            except OSError as error:
                if time.monotonic() > deadline:
                    why = error.strerror or str(error)
                    raise StartError(
                        f"port {dev.port} of {dev.host} can't be used ({why}): choose another with --port"
                    ) from error
            else:
                return
        time.sleep(0.05)


async def _check_server(url: str) -> None:
    try:
        conninfo = make_conninfo(url, target_session_attrs="read-write", application_name="stackbone dev")
    except psycopg.ProgrammingError:
        # Not repeated: it may hold a password.
        raise StartError("the database's address can't be read: write postgresql://user@host:port/name") from None
    try:
        async with asyncio.timeout(DATABASE_WAIT):
            connection = await psycopg.AsyncConnection.connect(conninfo)
    except TimeoutError as error:
        raise StartError(f"the database does not answer within {DATABASE_WAIT:g} s") from error
    except psycopg.Error as error:
        raise StartError(f"the database does not answer: {str(error).strip().splitlines()[0]}") from error
    async with connection:
        version = connection.info.server_version
    if version < OLDEST_SERVER * 10_000:
        raise StartError(
            f"the database is PostgreSQL {version // 10_000}.{version % 10_000},"
            f" Stackbone needs PostgreSQL {OLDEST_SERVER} or newer"
        )


def _secret_key(path: Path) -> str:
    # Kept, so that forms opened before a restart still work after it.
    with suppress(FileNotFoundError):
        return path.read_text(encoding="ascii").strip()
    _write_privately(path, secrets.token_urlsafe(50))
    return path.read_text(encoding="ascii").strip()


def _write_privately(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    new.replace(path)


def _start_log_anew(log: Path) -> None:
    with suppress(FileNotFoundError):
        if log.stat().st_size > _LOG_MAX:
            log.replace(log.with_name(f"{log.name}.old"))
