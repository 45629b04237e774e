"""Where a workspace's box is, and the way to it from a shell."""

import os
import pwd
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn

import click
import psycopg

from limits.errors import BoxUnreachableError
from limits.pool import Connection, Database, database_url, translated
from stackbone.box_file import url_of_dev
from stackbone.workspace import CONFIG

PATIENCE: Final = 4.0
"""Seconds until no answer is an error (C2: under 5, with the start of the command)."""


def workspace_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--workspace DIR` to a command, which gets an absolute folder as `workspace`."""
    return click.option(
        "--workspace",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
        default=".",
        envvar="STACKBONE_WORKSPACE",
        show_default="the current folder",
        help="The workspace's folder; also STACKBONE_WORKSPACE.",
    )(command)


def box_url(workspace: Path) -> str:
    """Return the address of the workspace's database: the environment's, else that of a running `stackbone dev`.

    Raises `BoxUnreachableError` if there is neither.
    """
    url = database_url() or url_of_dev(workspace)
    if url is None:
        raise BoxUnreachableError(_nowhere(workspace))
    return url


class ShellDatabase(Database):
    """The way to a box for one command: a single connection, and little patience, for a person waits.

    A pool would try a refused connection again until its time is up, and tell of each attempt.
    """

    def __init__(self, url: str, *, away: str | None = None) -> None:
        """Take the address, and what to say instead of the driver's words when nobody answers there."""
        super().__init__(url, application_name="stackbone cli", size=1)
        self._away = away
        self._only: Connection | None = None

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend the connection; raises `BoxUnreachableError` once `PATIENCE` is over."""
        try:
            with translated(), _deadline("the box's database does not answer"):
                connection = self._connected()
            # The server gives up first, so that a change which waited too long is not made.
            with translated(), _deadline("the box's database stopped answering; a change may or may not be made"):
                yield connection
        except psycopg.Error as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            raise click.ClickException(f"the box's database refused: {lines[0]}") from error

    def close(self) -> None:
        """Close the connection; a later call opens another."""
        super().close()
        if self._only is not None:
            self._only.close()
            self._only = None

    def _connected(self) -> Connection:
        if self._only is None:
            try:
                connection = self.connect()
            except BoxUnreachableError as error:
                raise BoxUnreachableError(self._away or str(error)) from error
            connection.execute("SELECT set_config('statement_timeout', '3500ms', false)")
            self._only = connection
        return self._only


def open_box(workspace: Path) -> ShellDatabase:
    """Return the way to the workspace's box; raises `BoxUnreachableError` if its address is not known."""
    url = box_url(workspace)
    return ShellDatabase(url, away=None if database_url() else _nowhere(workspace))


def box_command(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what every command takes, and pass the box's database as `db`."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @click.option("--agent", metavar="ID", help="Another installation than the one on this machine.")
    @workspace_option
    @wraps(command)
    def run(*, workspace: Path, agent: str | None, **arguments: Any) -> Any:
        if agent is not None:
            raise click.UsageError("--agent: no other installation is known yet, only the box on this machine")
        db = open_box(workspace)
        try:
            return command(db=db, **arguments)
        finally:
            db.close()

    return run


def actor_name() -> str:
    """Return who is at this machine, as the record of changes names a person at a shell: `user@host`."""
    try:
        # Not by LOGNAME or USER, which say whatever somebody set.
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = f"uid-{os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def _nowhere(workspace: Path) -> str:
    if not (workspace / CONFIG).is_file():
        return f"{workspace} is no workspace (it has no {CONFIG}); name one with --workspace, or set STACKBONE_DATABASE_URL"
    return f"no box runs in {workspace}; start it with `stackbone dev`, or set STACKBONE_DATABASE_URL"


@contextmanager
def _deadline(problem: str) -> Iterator[None]:
    # By the clock of the process, whatever the driver waits for: a frozen server keeps its connections open.
    def give_up(sign: int, frame: FrameType | None) -> NoReturn:
        raise BoxUnreachableError(f"{problem} (waited {PATIENCE:.0f} seconds)")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
