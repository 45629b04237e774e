"""When `stackbone dev` and its parts refuse to start: one clear message, the right exit code, nothing touched."""

import fcntl
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from limits.pool import Database
from stackbone.cli.dev import dev as dev_command
from stackbone.cli.studio import studio as studio_command
from tests.box.conftest import free_port, names_of, stackbone
from tests.box.fake_server import server_of_version

FAULTY = """
from stackbone import define_workspace

workspace = define_workspace(
    limits={
        "voice-calls": {"capacity": 0, "max_hold": "45m"},
        "partner-api": {"capacity": 5, "maxHold": "1h"},
    }
)
"""


def said(error: str) -> list[str]:
    """Return the lines of an error, after checking that it is no traceback."""
    assert "Traceback" not in error, error
    return error.strip().splitlines()


def test_a_workspace_without_a_config_is_refused(tmp_path: Path) -> None:
    """dev: names the file that is missing, exit code 2, and makes nothing."""
    done = stackbone("dev", "--workspace", str(tmp_path))
    assert done.returncode == 2
    assert "stackbone_config.py" in "\n".join(said(done.stderr))
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """dev: a folder that does not exist is wrong use."""
    done = stackbone("dev", "--workspace", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "nowhere" in "\n".join(said(done.stderr))


@pytest.mark.parametrize("command", ["dev", "worker"])
def test_a_faulty_config_stops_the_start_with_all_its_faults(
    tmp_path: Path, box: Database, declare: Callable[..., object], command: str
) -> None:
    """D6: exit code 2 and every fault, one a line; the database is untouched."""
    declare(calls=(3, 60_000))
    (tmp_path / "stackbone_config.py").write_text(FAULTY)
    done = stackbone(command, "--workspace", str(tmp_path), STACKBONE_DATABASE_URL=box.url)
    assert done.returncode == 2
    lines = said(done.stderr)
    for fault in ('limits["voice-calls"].capacity', 'limits["partner-api"].maxHold'):
        assert sum(fault in line for line in lines) == 1, lines
    assert names_of(box) == ["calls"]
    assert not (tmp_path / ".stackbone").exists()


def test_a_taken_port_is_named_before_anything_starts(workspace: Path) -> None:
    """dev: names the port and the option that helps, exit code 1; no database is made."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = stackbone("dev", "--workspace", str(workspace), "--port", str(port))
    assert done.returncode == 1
    (line,) = said(done.stderr)
    assert str(port) in line
    assert "--port" in line
    assert not (workspace / ".stackbone" / "postgres").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "studio.test", "127.0.0.1.evil.test", ""])
@pytest.mark.parametrize("command", [dev_command, studio_command], ids=["dev", "studio"])
def test_studio_is_not_offered_to_others(workspace: Path, command: object, host: str) -> None:
    """Until accounts exist Studio listens on loopback addresses only; any other is wrong use."""
    done = CliRunner().invoke(command, ["--workspace", str(workspace), "--host", host])  # type: ignore[arg-type]
    assert done.exit_code == 2
    assert "127.0.0.1" in done.stderr


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "80a"])
def test_a_port_that_is_none_is_refused(workspace: Path, port: str) -> None:
    """dev: wrong use ends with exit code 2."""
    assert CliRunner().invoke(dev_command, ["--workspace", str(workspace), "--port", port]).exit_code == 2


def test_a_database_that_refuses_is_reported(workspace: Path) -> None:
    """dev: the database of STACKBONE_DATABASE_URL is not there: one line, exit code 1, no password in it."""
    url = f"postgresql://someone:geheim@127.0.0.1:{free_port()}/box"
    done = stackbone("dev", "--workspace", str(workspace), "--port", str(free_port()), STACKBONE_DATABASE_URL=url)
    assert done.returncode == 1
    (line,) = said(done.stderr)
    assert "does not answer" in line
    assert "geheim" not in done.stdout + done.stderr


def test_a_database_that_keeps_silent_is_reported_in_time(workspace: Path) -> None:
    """C2: a box that does not answer is an error in under 5 seconds."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://someone@127.0.0.1:{silent.getsockname()[1]}/box"
        arguments = ("dev", "--workspace", str(workspace), "--port", str(free_port()))
        began = time.monotonic()
        assert stackbone(*arguments, "--help").returncode == 0
        start_up = time.monotonic() - began
        began = time.monotonic()
        # DATABASE_URL is the second name of the same thing.
        done = stackbone(*arguments, DATABASE_URL=url)
        assert time.monotonic() - began < 5 + start_up
    assert done.returncode == 1
    assert "does not answer" in said(done.stderr)[-1]


def test_an_address_that_is_none_is_reported_without_its_password(workspace: Path) -> None:
    """dev: an address nobody can read is reported, not printed: it may hold a password."""
    url = "postgresql://someone:geheim@[half/box"
    done = stackbone("dev", "--workspace", str(workspace), "--port", str(free_port()), STACKBONE_DATABASE_URL=url)
    assert done.returncode == 1
    assert len(said(done.stderr)) == 1
    assert "geheim" not in done.stdout + done.stderr


def test_a_server_too_old_is_refused(workspace: Path) -> None:
    """dev: PostgreSQL 15 is the oldest that serves."""
    with server_of_version("14.9") as url:
        done = stackbone("dev", "--workspace", str(workspace), "--port", str(free_port()), STACKBONE_DATABASE_URL=url)
    assert done.returncode == 1
    (line,) = said(done.stderr)
    assert "PostgreSQL 14.9" in line
    assert "15 or newer" in line


@pytest.mark.parametrize("command", ["dev", "worker"])
def test_the_database_of_another_workspace_is_refused(
    workspace: Path, box: Database, declare: Callable[..., object], command: str
) -> None:
    """D6: the database remembers its workspace and refuses another's limits."""
    declare(calls=(3, 60_000))
    port = ("--port", str(free_port())) if command == "dev" else ()
    done = stackbone(command, "--workspace", str(workspace), *port, STACKBONE_DATABASE_URL=box.url)
    assert done.returncode == 1
    assert "belongs to the workspace 'tests'" in said(done.stderr)[-1]
    assert names_of(box) == ["calls"]


def test_data_of_another_postgresql_is_refused(workspace: Path) -> None:
    """dev: exit code 1 and both versions; the data stays."""
    data = workspace / ".stackbone" / "postgres"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("17\n")
    done = stackbone("dev", "--workspace", str(workspace), "--port", str(free_port()))
    assert done.returncode == 1
    (line,) = said(done.stderr)
    assert "PostgreSQL 17" in line
    assert "PostgreSQL 18" in line
    assert [path.name for path in data.iterdir()] == ["PG_VERSION"]


def test_a_folder_that_cannot_be_written_is_named(workspace: Path) -> None:
    """dev: exit code 1 and the folder."""
    (workspace / ".stackbone").write_text("a file")
    done = stackbone("dev", "--workspace", str(workspace), "--port", str(free_port()))
    assert done.returncode == 1
    (line,) = said(done.stderr)
    assert ".stackbone" in line


def test_a_lock_left_by_nobody_does_not_block(workspace: Path) -> None:
    """dev: the lock dies with its process; a file that is left says nothing."""
    home = workspace / ".stackbone"
    home.mkdir()
    (home / "lock").write_text(f"{os.getpid()}\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert "port" in stackbone("dev", "--workspace", str(workspace), "--port", str(port)).stderr
        with (home / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "already runs" in stackbone("dev", "--workspace", str(workspace), "--port", str(port)).stderr


@pytest.mark.parametrize("command", ["studio", "worker", "migrate"])
def test_without_a_known_database_the_parts_say_what_to_do(workspace: Path, command: str) -> None:
    """C1: no database is named and no `dev` runs here: exit code 1 and what would help."""
    done = stackbone(command, "--workspace", str(workspace))
    assert done.returncode == 1
    (line,) = said(done.stderr)
    assert "stackbone dev" in line


def test_an_odd_retention_is_refused(workspace: Path, box: Database) -> None:
    """worker: how long ended slots are kept is a whole number of days."""
    for odd in ("0", "-1", "1.5", "ten", "\uff11\uff10", "40000000"):
        done = stackbone(
            "worker", "--workspace", str(workspace), STACKBONE_DATABASE_URL=box.url, STACKBONE_RETENTION_DAYS=odd
        )
        assert done.returncode == 2
        assert "STACKBONE_RETENTION_DAYS" in done.stderr


@pytest.mark.parametrize("command", ["dev", "studio", "worker", "migrate"])
def test_help_shows_an_example(command: str) -> None:
    """C1: `--help` with examples."""
    done = stackbone(command, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"stackbone {command}" in done.stdout
