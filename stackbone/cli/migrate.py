"""`stackbone migrate`: brings a box's database up to this version."""

import os
from pathlib import Path

import click

from stackbone.cli.box import box_url, workspace_option
from stackbone.commands import MIGRATE, OURS, SETTINGS


@click.command(short_help="Bring the database up to this version.")
@workspace_option
def migrate(workspace: Path) -> None:
    """Bring the box's database up to this version of Stackbone.

    Safe to run twice, and from several machines at once: the second waits for the first. `stackbone dev` does it
    by itself.

    \b
    Example:
      STACKBONE_DATABASE_URL=postgresql://box@db/box stackbone migrate
    """
    env = {"STACKBONE_DATABASE_URL": box_url(workspace), "DJANGO_SETTINGS_MODULE": SETTINGS}
    os.chdir(OURS)
    os.execve(MIGRATE[0], MIGRATE, os.environ | env)
