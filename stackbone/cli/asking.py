"""Asking a person at a terminal before something is done."""

import sys

import click


def need_terminal(nothing_done: str) -> None:
    """Refuse where nobody can be asked: the question would not be seen, or the answer come from a pipe."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        raise click.ClickException(f"{nothing_done}: without a terminal to ask at, say --yes")


def confirmed(question: str) -> bool:
    """Ask, and tell whether the answer is yes."""
    click.echo(f"{question} [y/N] ", err=True, nl=False)
    try:
        answer = sys.stdin.buffer.readline()
    except KeyboardInterrupt:
        click.echo(err=True)
        raise
    if not answer.endswith(b"\n"):
        click.echo(err=True)
    return answer.strip().lower() in (b"y", b"yes")
