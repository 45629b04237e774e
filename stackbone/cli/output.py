"""How the commands print: text that is safe in a terminal, tables, JSON, errors."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import batched, chain, islice
from typing import Final

import click
from wcwidth import wcswidth

_AT_ONCE: Final = 100


def escape(text: str) -> str:
    """Return `text` with whatever is not printable, bidirectional marks included, written as an escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def complain(problem: str) -> None:
    """Print an error, one line on standard error."""
    click.echo(f"Error: {escape(' '.join(problem.splitlines()))}", err=True)


def write_json(value: object) -> None:
    """Print a value as one line of JSON, in ASCII."""
    click.echo(json.dumps(value))


def write_pieces(pieces: Iterable[str]) -> None:
    """Print a text of any length piece by piece, without holding it; a flush for each would cost more than the rest."""
    for some in batched(pieces, _AT_ONCE):
        click.echo("".join(some), nl=False)


class Table:
    """Lines of aligned columns; the widths come from the first rows, so that a long list can be streamed."""

    def __init__(
        self, headings: Sequence[str], first_rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()
    ) -> None:
        """Take the headings, rows to measure, and the numbers of the columns that align right."""
        self._right = frozenset(right)
        self._widths = [max(_width(row[column]) for row in [headings, *first_rows]) for column in range(len(headings))]

    def line(self, row: Sequence[str]) -> str:
        """Return the line of one row; its cells are escaped already."""
        cells = []
        for column, (cell, width) in enumerate(zip(row, self._widths, strict=True)):
            padding = " " * max(0, width - _width(cell))
            cells.append(padding + cell if column in self._right else cell + padding)
        return "  ".join(cells).rstrip() + "\n"


def print_table(
    headings: tuple[str, ...],
    right: tuple[int, ...],
    rows: Iterator[tuple[str, ...]],
    *,
    measured: int,
    widest: tuple[str, ...] | None = None,
) -> None:
    """Print rows under their headings, nothing where there are none.

    The first `measured` give the widths; `widest` holds cells as wide as later ones may be.
    """
    first = list(islice(rows, measured))
    if first:
        table = Table(headings, [*first, *([widest] if widest else [])], right=right)
        write_pieces(table.line(row) for row in chain([headings], first, rows))


def _width(cell: str) -> int:
    return max(wcswidth(cell), 0)
