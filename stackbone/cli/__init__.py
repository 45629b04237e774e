"""The command `stackbone`. A command's module is loaded when it is called: reading a limit needs no web framework."""

import importlib
import os
import sys
from typing import Any, Final

import click

from limits.errors import LimitsError
from stackbone.workspace import ConfigError

_COMMANDS: Final = ("dev", "limits", "migrate", "studio", "worker")


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"stackbone.cli.{cmd_name}"), cmd_name)
        return command


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stackbone", message="%(prog)s %(version)s")
def stackbone() -> None:
    """Concurrency limits: run a box, and see and operate its limits.

    \b
    Examples:
      stackbone dev                               the whole box of this folder's workspace
      stackbone limits list                       every limit: busy, waiting, max hold
      stackbone limits capacity voice-calls 30    override a capacity
    """


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 refused, not there or box away, 2 wrong use or a faulty config."""
    try:
        result: Any = stackbone.main(arguments, prog_name="stackbone", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(result if isinstance(result, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ConfigError as error:
        for fault in error.faults:
            click.echo(fault, err=True)
        sys.exit(2)
    except LimitsError as error:
        from stackbone.cli.output import escape

        click.echo(f"Error: {escape(str(error))}", err=True)
        sys.exit(1)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read us has seen enough. What is still buffered would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
