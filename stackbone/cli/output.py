"""What the commands share: where the box is, and text that is safe in a terminal."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import click
from wcwidth import wcswidth

from limits.errors import BoxUnreachableError
from limits.pool import Database, database_url

BOX_FILE: Final = Path(".stackbone") / "box.json"
"""Where a running `stackbone dev` says how to reach its box, below the workspace."""


def workspace_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--workspace DIR` to a command, which gets an absolute folder as `workspace`."""
    return click.option(
        "--workspace",
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
    url = database_url()
    if url is not None:
        return url
    try:
        return str(json.loads((workspace / BOX_FILE).read_text(encoding="utf-8"))["url"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BoxUnreachableError(
            f"no box runs in {workspace}; start it with `stackbone dev`, or set STACKBONE_DATABASE_URL"
        ) from error


def open_box(workspace: Path) -> Database:
    """Return the workspace's database; raises `BoxUnreachableError` if its address is not known."""
    return Database(box_url(workspace), application_name="stackbone cli", size=1)


def actor_name() -> str:
    """Return who is at this machine, as the record of changes names a person at a shell: `user@host`."""
    import getpass
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def escape(text: str) -> str:
    """Return `text` with whatever is not printable, bidirectional marks included, written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def write_json(value: object) -> None:
    """Print a value as one line of JSON, in ASCII."""
    click.echo(json.dumps(value))


class Table:
    """Lines of aligned columns; the widths come from the first rows, so that a long list can be streamed."""

    def __init__(
        self, headings: Sequence[str], first_rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()
    ) -> None:
        """Take the headings, rows to measure, and the numbers of the columns that align right."""
        self._right = frozenset(right)
        self._widths = [max(_width(row[column]) for row in [headings, *first_rows]) for column in range(len(headings))]
        self.write(headings)

    def write(self, row: Sequence[str]) -> None:
        """Print one row."""
        cells = []
        for column, (cell, width) in enumerate(zip(row, self._widths, strict=True)):
            padding = " " * max(0, width - _width(cell))
            cells.append(padding + cell if column in self._right else cell + padding)
        click.echo("  ".join(cells).rstrip())


def _width(cell: str) -> int:
    return max(wcswidth(cell), 0)
