"""The command lines of the processes that a box consists of; whoever starts one takes it from here."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SETTINGS: Final = "studio.settings"
"""What DJANGO_SETTINGS_MODULE must be for Studio and its commands; a name, since nothing imports Studio."""
OURS: Final = Path(__file__).parent.parent
"""The folder that our packages lie in. Daphne looks for modules in the current folder first, so Studio runs here:
in a workspace, a file called `limits.py` would take the place of ours."""

# -P for the same reason.
_PYTHON: Final = (sys.executable, "-P", "-m")
MIGRATE: Final = (*_PYTHON, "django", "migrate", "--no-input", "--skip-checks")
STACKBONE: Final = (*_PYTHON, "stackbone")


def studio_command(host: str, port: int) -> list[str]:
    """Return the command that serves Studio on `host` and `port`."""
    address = ("-v", "0", "-b", host, "-p", str(port))
    return [*_PYTHON, "daphne", *address, "--server-name", "stackbone", "studio.asgi:application"]


def program_of(command: Sequence[str]) -> list[str]:
    """Return a workspace's command, `python` standing for the interpreter that runs us."""
    program = sys.executable if command[0] in ("python", "python3") else command[0]
    return [program, *command[1:]]
