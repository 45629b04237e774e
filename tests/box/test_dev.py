"""`stackbone dev` from its start to its end, whole and with parts of it killed."""

import json
import signal
import stat
import sys
from pathlib import Path

import pytest

from limits import engine, queries
from limits.engine import Actor
from limits.pool import Database
from tests.box.conftest import Running, Starter, eventually, free_port, gone, names_of, stackbone, write_config

SPEAKS = ["python", "-c", "import time; print('placing calls'); time.sleep(999)"]
IGNORES_TERM = [
    "python",
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('stubborn'); time.sleep(999)",
]


def ask_for_slot(running: Running, key: str, *, timeout: int = 60_000) -> engine.Asked:
    """Ask for a slot in the running box; its wait runs out after `timeout` milliseconds."""
    database = running.database()
    try:
        return engine.request("voice-calls", key=key, timeout=timeout, db=database)
    finally:
        database.close()


def test_one_command_runs_the_whole_box_and_ctrl_c_stops_all_of_it(tmp_path: Path, dev: Starter) -> None:
    """dev: database, limits, Studio, worker and the config's processes; Ctrl-C ends everything with exit code 0."""
    workspace = write_config(tmp_path / "call-center", traffic=SPEAKS)
    running = dev(workspace).ready()

    assert running.output.splitlines()[-1].endswith(f"Studio: http://127.0.0.1:{running.port}/")
    assert "voice-calls" in (running.page() or "")
    running.says(r"^traffic +\| placing calls$")
    running.says(r"^worker +\| .* is ready$")
    assert "\x1b" not in running.output

    box = running.home / "box.json"
    assert stat.S_IMODE(box.stat().st_mode) == 0o600
    assert running.box["studio"] == f"http://127.0.0.1:{running.port}/"
    assert running.box["pid"] == running.process.pid
    listed = stackbone("limits", "list", "--json", "--workspace", str(workspace))
    assert [limit["name"] for limit in json.loads(listed.stdout)] == ["voice-calls"]

    everything = running.children()
    assert len(everything) > 5
    assert running.stop() == 0
    gone(everything)
    assert not box.exists()
    assert "database system is shut down" in (running.home / "postgres.log").read_text()
    made = {path.name for path in workspace.iterdir()}
    assert made == {"stackbone_config.py", ".stackbone"}


def test_a_second_dev_in_the_same_workspace_is_refused(workspace: Path, dev: Starter) -> None:
    """dev: exit code 1 and the first one's number; the first one goes on."""
    first = dev(workspace)
    first.says(r"\|")
    second = stackbone("dev", "--workspace", str(workspace), "--port", str(free_port()))
    assert second.returncode == 1
    assert str(first.process.pid) in second.stderr
    assert "already runs" in second.stderr
    first.ready()
    assert first.stop(signal.SIGTERM) == 0


def test_whatever_is_killed_comes_back(tmp_path: Path, dev: Starter) -> None:
    """dev: Studio, worker, a process of the config and PostgreSQL itself are restarted; everything recovers."""
    workspace = write_config(tmp_path / "workspace", traffic=SPEAKS)
    running = dev(workspace).ready()
    running.says(r"^worker .* is ready$")
    slot = ask_for_slot(running, "before")

    for name, part in {"studio": "daphne", "worker": "worker", "traffic": "placing calls"}.items():
        killed = running.child(part)
        killed.kill()
        running.says(rf"^{name} +\| was killed by SIGKILL; starts again in 0.5 s$")
        eventually(lambda: not killed.is_running(), why=f"{name} is still there")  # noqa: B023
        assert running.child(part).pid != killed.pid
    eventually(running.page, why="Studio does not answer after it was killed")

    postmaster = running.postmaster()
    postmaster.kill()
    running.says(r"^postgres +\| was killed by SIGKILL; starts again in 0.5 s$")
    eventually(lambda: "voice-calls" in (running.page() or ""), why="Studio does not find the database again")
    database = running.database()
    assert queries.slot(str(slot.slot_id), db=database) is not None
    assert engine.release(str(slot.slot_id), actor=Actor(name="test", source="cli"), db=database).released
    database.close()
    for key in ("fills", "the limit", "waits"):
        ask_for_slot(running, key, timeout=1)
    running.says(r"^worker .* swept: 1 timed out$")
    assert running.postmaster().pid != postmaster.pid
    assert running.stop() == 0


def test_a_killed_dev_leaves_nothing_that_blocks_the_next_start(tmp_path: Path, dev: Starter) -> None:
    """dev: after SIGKILL the next start finds port, lock and database free, and everything that was committed (Q2)."""
    workspace = write_config(tmp_path / "workspace", stubborn=IGNORES_TERM)
    first = dev(workspace).ready()
    first.says("stubborn")
    slots = [ask_for_slot(first, key) for key in ("one", "two", "three")]
    assert [slot.state for slot in slots] == ["busy", "busy", "waiting"]
    everything = first.children()
    first.process.kill()
    first.process.wait()

    write_config(workspace)
    second = dev(workspace, port=first.port).ready()
    gone(everything)
    database = second.database()
    assert [ask_for_slot(second, key).slot_id for key in ("one", "two", "three")] == [slot.slot_id for slot in slots]
    assert engine.check(db=database) == []
    database.close()
    assert second.stop(signal.SIGHUP) == 0


@pytest.mark.parametrize("moment", ["postgres.new-*", "postgres/postmaster.pid", "secret_key"])
def test_a_dev_killed_while_it_starts_leaves_nothing_that_blocks_the_next(
    workspace: Path, dev: Starter, moment: str
) -> None:
    """dev: a SIGKILL in the middle of the first start, while database or tables are being made."""
    first = dev(workspace)
    eventually(lambda: list(first.home.glob(moment)), why=f"{moment} never came")
    everything = first.children()
    first.process.kill()
    first.process.wait()
    second = dev(workspace, port=first.port).ready()
    gone(everything)
    assert second.stop() == 0
    assert not list(second.home.glob("postgres.new-*"))


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path, dev: Starter) -> None:
    """dev: exit code 130 without waiting for a process that does not want to end; nothing is left."""
    workspace = write_config(tmp_path / "workspace", stubborn=IGNORES_TERM)
    running = dev(workspace).ready()
    running.says("stubborn$")
    everything = running.children()
    running.process.send_signal(signal.SIGINT)
    running.says("SIGINT: stopping")
    assert running.stop() == 130
    gone(everything)


def test_ctrl_c_during_the_start_stops_it(workspace: Path, dev: Starter) -> None:
    """dev: exit code 0 at any moment, with nothing left running."""
    running = dev(workspace)
    eventually((running.home / "postgres" / "postmaster.pid").exists, why="PostgreSQL never started")
    everything = running.children()
    assert running.stop() == 0
    gone(everything)
    assert "Studio: http" not in running.output


def test_a_process_that_crashes_at_once_does_not_keep_the_rest_from_starting(tmp_path: Path, dev: Starter) -> None:
    """dev: a crashed child is restarted with back-off, one that ended well is left alone."""
    workspace = write_config(
        tmp_path / "workspace", crashes=["python", "-c", "1 / 0"], ends=["python", "-c", "print('done')"]
    )
    running = dev(workspace).ready()
    running.says(r"^crashes +\| ZeroDivisionError")
    running.says(r"^crashes +\| ended with exit code 1; starts again in 1 s$")
    running.says(r"^ends +\| ended$")
    assert running.output.count("| done") == 1
    assert running.stop() == 0


def test_a_workspace_far_down_with_an_odd_name_works(tmp_path: Path, dev: Starter) -> None:
    """dev: paths longer than a socket's may be, with blanks, quotes and letters of any kind."""
    workspace = write_config(tmp_path / ("año 'n' \"d\" %20" * 5) / ("d" * 60))
    running = dev(workspace).ready()
    assert "voice-calls" in (running.page() or "")
    assert running.stop() == 0


def test_a_module_of_the_workspace_is_not_taken_for_ours(workspace: Path, dev: Starter) -> None:
    """dev: a workspace may call its files what it likes, `limits.py` and `studio.py` too."""
    for name in ("limits", "studio", "django", "daphne"):
        (workspace / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    running = dev(workspace).ready()
    assert "voice-calls" in (running.page() or "")
    running.says(r"^worker .* is ready$")
    assert "not this one" not in running.output
    assert running.stop() == 0


def test_a_real_server_is_used_where_one_is_named(box: Database, tmp_path: Path, dev: Starter) -> None:
    """dev: STACKBONE_DATABASE_URL comes before DATABASE_URL, and no PostgreSQL is embedded then."""
    workspace = write_config(tmp_path / "workspace")
    running = dev(
        workspace, STACKBONE_DATABASE_URL=box.url, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none"
    ).ready()
    assert names_of(box) == ["voice-calls"]
    assert running.box["url"] == box.url
    assert not (running.home / "postgres").exists()
    assert running.stop() == 0


def test_it_runs_in_the_background_of_a_closed_terminal(workspace: Path, dev: Starter) -> None:
    """dev: a shell's `nohup` keeps it alive through SIGHUP."""
    program = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    )
    running = dev(workspace, before=[sys.executable, "-c", program]).ready()
    running.process.send_signal(signal.SIGHUP)
    assert running.page()
    assert running.stop(signal.SIGTERM) == 0
