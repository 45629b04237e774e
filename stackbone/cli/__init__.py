"""The command `stackbone`. A command's module is loaded when it is called: reading a limit needs no web framework."""

import errno
import importlib
import io
import os
import sys
from typing import Final, NoReturn

import click

from limits.errors import LimitsError
from stackbone.cli.output import complain, escape
from stackbone.workspace import ConfigError

_COMMANDS: Final = ("dev", "init", "limits", "migrate", "runs", "studio", "trigger", "worker")
_OUTPUT_LOST: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class _Commands(click.Group):
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"stackbone.cli.{cmd_name}"), cmd_name)
        return command


@click.command(
    cls=_Commands,
    # Their names alone: what click lists, and suggests for a misspelt one.
    commands={name: click.Command(name) for name in _COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="stackbone", message="%(prog)s %(version)s")
def stackbone() -> None:
    """Concurrency limits: run a box, and see and operate its limits.

    \b
    Examples:
      stackbone dev                               the whole box of this folder's workspace
      stackbone init                              a small workspace to begin with
      stackbone limits list                       every limit: busy, waiting, max hold
      stackbone trigger place_call --input '{"call_id": "call-17"}'
      stackbone limits capacity voice-calls 30    override a capacity
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 1 refused, not there or box away, 2 wrong use or a faulty config."""
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, *_OUTPUT_LOST):
            raise
        # Whoever reads a pipe may have seen enough; a full disk is an error.
        if error.errno != errno.EPIPE:
            complain(f"the output cannot be written: {error.strerror}")
        _drop_output()
        code = 1
    sys.exit(code)


def _run(arguments: list[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A label in a script that the terminal's encoding lacks must not stop the command.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        result = stackbone.main(arguments, prog_name="stackbone", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        command = f" (see `{error.ctx.command_path} --help`)" if error.ctx else ""
        complain(error.format_message() + command)
        return error.exit_code
    except click.ClickException as error:
        complain(error.format_message())
        return error.exit_code
    except ConfigError as error:
        for fault in error.faults:
            click.echo(escape(fault), err=True)
        return 2
    except LimitsError as error:
        complain(str(error))
        return 1
    except (KeyboardInterrupt, click.Abort):
        return 130
    return result if isinstance(result, int) else 0


def _drop_output() -> None:
    # What is still buffered would complain once more at exit.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
