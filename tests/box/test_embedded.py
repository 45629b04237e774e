"""The embedded PostgreSQL alone: made, found again, and cleared away after every kind of death."""

import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
import pytest

from stackbone import embedded
from stackbone.embedded import Embedded, EmbeddedError
from tests.box.conftest import PATIENCE, eventually, gone


@contextmanager
def running(server: Embedded) -> Iterator[subprocess.Popen[bytes]]:
    """Prepare and start the server, wait until it answers, and leave nothing of it."""
    server.prepare()
    with server.log.open("ab") as log:
        process = subprocess.Popen(
            server.command(), stdout=log, stderr=log, env=embedded.environment(), cwd="/", start_new_session=True
        )
    try:
        eventually(lambda: process.poll() is not None or server.accepts(), why="PostgreSQL does not answer")
        assert process.poll() is None, server.last_words()
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)
        server.remove_traces()


def note(server: Embedded, text: str) -> list[str]:
    """Store a text in the server and return all that is stored."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS note (text text)")
        connection.execute("INSERT INTO note VALUES (%s)", [text])
        return [row[0] for row in connection.execute("SELECT text FROM note").fetchall()]


@pytest.fixture
def server(tmp_path: Path) -> Embedded:
    """Lend a server that was never started."""
    return Embedded(tmp_path / ".stackbone")


def test_only_its_user_and_root_can_reach_the_server(server: Embedded) -> None:
    """dev: on a shared machine nobody else gets in, though there is no password."""
    with running(server) as process:
        for folder in (server.data, server.sockets):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert psutil.Process(process.pid).net_connections("inet") == []
        assert psutil.Process(process.pid).uids().effective != 0


def test_a_server_that_still_runs_is_stopped_and_its_data_kept(server: Embedded) -> None:
    """dev: a SIGKILLed `dev` may leave its PostgreSQL; the next start deals with it."""
    with running(server) as orphan:
        note(server, "first")
        with running(server):
            assert orphan.wait(PATIENCE) == 0
            assert note(server, "second") == ["first", "second"]


def test_a_killed_server_comes_back_with_its_data(server: Embedded) -> None:
    """dev: stale postmaster.pid and lock files block nothing; Q2: what was committed is there."""
    with running(server) as process:
        note(server, "first")
        backends = psutil.Process(process.pid).children()
        process.kill()
        process.wait(PATIENCE)
        gone(backends)
    assert (server.data / "postmaster.pid").exists()
    with running(server):
        assert note(server, "second") == ["first", "second"]


def test_another_process_with_the_dead_servers_number_is_left_alone(server: Embedded) -> None:
    """dev: numbers of processes come again; a stale postmaster.pid may name anybody, even ourselves."""
    with running(server):
        pass
    stale = server.data / "postmaster.pid"
    lines = stale.read_text().splitlines()
    stale.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    (server.sockets / f"{embedded.SOCKET}.lock").write_text(f"{os.getpid()}\n")
    with running(server):
        assert note(server, "here") == ["here"]


def test_a_path_too_long_for_a_socket_works(tmp_path: Path) -> None:
    """dev: a socket's path holds about 100 bytes; a workspace may lie much deeper, under odd names."""
    workspace = tmp_path / ("ñ 'q' \"d\" x" * 8) / ("d" * 80)
    workspace.mkdir(parents=True)
    server = Embedded(workspace / ".stackbone")
    with running(server):
        assert stat.S_IMODE(server.sockets.stat().st_mode) == 0o700
        assert not server.sockets.is_relative_to(tmp_path)
        assert note(server, "here") == ["here"]
    assert not server.sockets.exists()


def test_a_socket_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    """dev: somebody else may have made the folder in the system's common place before us."""
    workspace = tmp_path / ("x" * 100)
    workspace.mkdir()
    server = Embedded(workspace / ".stackbone")
    server.sockets.mkdir(mode=0o777)
    try:
        server.sockets.chmod(0o777)
        with pytest.raises(EmbeddedError, match="is not a folder that only user"):
            server.prepare()
    finally:
        server.sockets.rmdir()


def test_a_link_in_place_of_the_socket_folder_is_refused(tmp_path: Path) -> None:
    """dev: a link there would lead the server's socket to a folder of somebody else's choice."""
    workspace = tmp_path / ("x" * 100)
    workspace.mkdir()
    server = Embedded(workspace / ".stackbone")
    server.sockets.symlink_to(tmp_path)
    try:
        with pytest.raises(EmbeddedError, match="is not a folder that only user"):
            server.prepare()
    finally:
        server.sockets.unlink()


@pytest.mark.parametrize("found", ["17", "19"])
def test_data_of_another_version_is_refused_and_left_as_it_is(server: Embedded, found: str) -> None:
    """dev: a newer or older PostgreSQL's data gives a message that names both versions."""
    server.data.mkdir(parents=True)
    (server.data / "PG_VERSION").write_text(f"{found}\n")
    with pytest.raises(EmbeddedError, match=f"made by PostgreSQL {found}, this is PostgreSQL 18"):
        server.prepare()
    assert [path.name for path in server.data.iterdir()] == ["PG_VERSION"]


def test_a_folder_that_is_no_database_is_refused_and_left_as_it_is(server: Embedded) -> None:
    """dev: files in the place of the data are nobody's to overwrite."""
    server.data.mkdir(parents=True)
    (server.data / "notes.txt").write_text("mine")
    with pytest.raises(EmbeddedError, match="holds no PostgreSQL data"):
        server.prepare()
    assert (server.data / "notes.txt").read_text() == "mine"


def test_a_half_made_database_is_thrown_away(server: Embedded) -> None:
    """dev: a kill during the first start leaves nothing that looks like a database."""
    half = server.home / "postgres.new-killed"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    server.prepare()
    assert not half.exists()
    assert (server.data / "global" / "pg_control").exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """dev: a clear error where `.stackbone` can't be a folder."""
    (tmp_path / ".stackbone").write_text("a file")
    with pytest.raises(EmbeddedError, match=r"can't use .*\.stackbone"):
        Embedded(tmp_path / ".stackbone").prepare()


def test_the_environment_of_a_shell_does_not_lead_the_server_astray(
    server: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """dev: PGPORT, PGDATA, PGHOST or a locale that does not exist here change nothing."""
    for name, value in {"PGPORT": "6432", "PGDATA": "/nowhere", "PGHOST": "db.test", "LC_ALL": "xx_YY.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    with running(server):
        assert note(server, "ñ") == ["ñ"]
