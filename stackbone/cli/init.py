"""`stackbone init`: a small workspace that runs as it is."""

import os
import shlex
from pathlib import Path
from typing import Final

import click

from stackbone.cli.output import escape

_SCAFFOLD: Final = Path(__file__).parent.parent / "scaffold"
FILES: Final = {
    "stackbone_config.py": "stackbone_config.py",
    "workflows/place_call.py": "workflows/place_call.py",
    "workflows/call_ended.py": "workflows/call_ended.py",
    "README.md": "README.md",
    ".gitignore": "gitignore",
}
"""What is written, and where in the scaffold it comes from."""


@click.command(short_help="Write a small workspace to begin with.")
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
def init(directory: Path) -> None:
    """Write a small workspace into DIR, the current folder if not given: limits, two workflows, what to do next.

    Nothing is written where one of its files exists already.

    \b
    Examples:
      stackbone init
      stackbone init calls && cd calls && stackbone dev
    """
    there = [name for name in FILES if os.path.lexists(directory / name)]
    if there:
        raise click.ClickException(f"{escape(str(directory))} has {', '.join(there)} already; nothing was written")
    _write(directory)
    click.echo(f"Wrote {', '.join(FILES)} to {escape(str(directory))}.")
    place = "" if directory == Path() else f" --workspace {escape(shlex.quote(str(directory)))}"
    click.echo(f"Start it: stackbone dev{place}")


def _write(directory: Path) -> None:
    written = []
    try:
        for name, source in FILES.items():
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8") as file:
                written.append(target)
                file.write((_SCAFFOLD / source).read_text(encoding="utf-8"))
    except OSError as error:
        for target in written:
            target.unlink(missing_ok=True)
        raise click.ClickException(f"can't write {error.filename}: {error.strerror}; nothing was written") from error
