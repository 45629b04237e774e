"""`stackbone dev`: everything a workspace needs, in one terminal."""

from pathlib import Path

import click

from stackbone import supervisor
from stackbone.cli.box import workspace_option
from stackbone.cli.studio import host_option, port_option
from stackbone.embedded import EmbeddedError
from stackbone.workspace import load


@click.command(short_help="Run the whole box on this machine.")
@workspace_option
@host_option
@port_option
@click.pass_context
def dev(context: click.Context, workspace: Path, host: str, port: int) -> None:
    """Run the workspace's whole box on this machine, until Ctrl-C.

    Starts a PostgreSQL of its own in the workspace's .stackbone folder (or uses the server of STACKBONE_DATABASE_URL,
    else of DATABASE_URL), brings the database up to date, declares the limits of stackbone_config.py, then runs
    Studio, a worker and the processes that the config names. What crashes is started again. A changed config takes
    effect at the next start.

    \b
    Examples:
      stackbone dev
      stackbone dev --workspace examples/call-center --port 9000
    """
    asked = supervisor.Dev(directory=workspace, workspace=load(workspace), host=host, port=port)
    try:
        context.exit(supervisor.run(asked))
    except (supervisor.StartError, EmbeddedError) as error:
        raise click.ClickException(str(error)) from error
