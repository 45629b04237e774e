"""`stackbone init`: the workspace that it writes, that it runs, and where it writes nothing."""

import os
from pathlib import Path

import pytest

from limits.pool import Database
from stackbone.cli.init import FILES
from stackbone.client import Client
from stackbone.workspace import load
from tests.cli.conftest import run
from tests.workflows.conftest import Workspace


def files(folder: Path) -> set[str]:
    """Return the files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_init_writes_a_workspace_that_loads(tmp_path: Path) -> None:
    """It runs as it is, and nothing is overwritten."""
    done = run("init", "calls", cwd=tmp_path)
    assert done.code == 0, done.stderr
    assert "stackbone dev --workspace calls" in done.stdout
    assert all((tmp_path / "calls" / name).is_file() for name in FILES)
    loaded = load(tmp_path / "calls")
    assert loaded.workflows == ("workflows/call_ended.py", "workflows/place_call.py")
    again = run("init", "calls", cwd=tmp_path)
    assert again.code == 1
    assert "has stackbone_config.py, " in again.refusal


def test_what_was_written_runs_as_it_is(tmp_path: Path, box: Database) -> None:
    """A1, F1: one workflow takes a slot, the other gives it back."""
    assert run("init", cwd=tmp_path).code == 0
    with Client(os.environ["STACKBONE_DATABASE_URL"]) as client:
        workspace = Workspace(tmp_path, box, client)
        try:
            workspace.worker().ready()
            done = run("trigger", "place_call", "--input", '{"call_id": "call-17"}', cwd=tmp_path)
            output = workspace.result(done.stdout.strip())
            assert [workspace.busy().id, workspace.busy().label] == [output["slot_id"], "call-17"]
            assert workspace.result(workspace.trigger("call_ended", output)) == {"released": True}
        finally:
            workspace.clean_up()


@pytest.mark.parametrize("there", FILES)
def test_a_file_that_stands_there_is_named_and_nothing_is_written(tmp_path: Path, there: str) -> None:
    """Exit code 1; a link that leads nowhere stands there too."""
    (tmp_path / "workflows").mkdir()
    (tmp_path / there).symlink_to("nowhere")
    assert run("init", cwd=tmp_path).refusal == f". has {there} already; nothing was written"
    assert files(tmp_path) == {there}


def test_a_folder_that_can_not_be_made_leaves_nothing_behind(tmp_path: Path) -> None:
    """What was begun is taken back."""
    (tmp_path / "file").touch()
    assert run("init", "file", cwd=tmp_path).code == 2
    assert "nothing was written" in run("init", "file/below", cwd=tmp_path).refusal
    (tmp_path / "workflows").touch()
    assert "nothing was written" in run("init", cwd=tmp_path).refusal
    assert files(tmp_path) == {"file", "workflows"}
