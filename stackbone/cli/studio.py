"""`stackbone studio`: Studio alone, for a box whose database runs elsewhere."""

import os
from pathlib import Path

import click

from stackbone.cli.box import box_url, workspace_option
from stackbone.commands import OURS, SETTINGS, studio_command


def loopback_host(context: click.Context, parameter: click.Parameter, host: str) -> str:
    """Return the loopback address that `host` names; raises `click.BadParameter` for any other."""
    address = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1", "[::1]": "::1"}.get(host.lower())
    if address is None:
        raise click.BadParameter(
            f"Studio has no accounts yet and must not be reachable from elsewhere: use 127.0.0.1, not {host}"
        )
    return address


host_option = click.option(
    "--host", default="127.0.0.1", show_default=True, callback=loopback_host, help="Loopback address to listen on."
)
port_option = click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(1, 65535), help="Port to listen on."
)


@click.command(short_help="Serve Studio.")
@workspace_option
@host_option
@port_option
def studio(workspace: Path, host: str, port: int) -> None:
    """Serve Studio, the screens of a box, until stopped.

    The box's database is the one of STACKBONE_DATABASE_URL, else of DATABASE_URL, else that of a `stackbone dev`
    which runs in the workspace.

    \b
    Examples:
      STACKBONE_DATABASE_URL=postgresql://box@db/box stackbone studio
      stackbone studio --port 9000
    """
    env = {
        "STACKBONE_DATABASE_URL": box_url(workspace),
        "STACKBONE_WORKSPACE": str(workspace),
        "DJANGO_SETTINGS_MODULE": SETTINGS,
    }
    command = studio_command(host, port)
    os.chdir(OURS)
    os.execve(command[0], command, os.environ | env)
