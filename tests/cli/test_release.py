"""`limits release`: what it releases, what it refuses, and whom it asks first."""

import json
import os
import re
import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from limits import engine, queries, rules
from limits.engine import Actor
from limits.pool import Database
from tests.cli.conftest import Cli, ask, run
from tests.cli.terminal import Terminal
from tests.conftest import Clock

ANA = Actor(name="ana@desk", source="cli")

type Declare = Callable[..., engine.Synced]


def state(slot: str) -> str:
    """Return how a slot stands."""
    row = queries.slot(slot)
    assert row is not None
    return row.state


def test_a_busy_slot_is_released_and_the_next_run_starts(cli: Cli, declare: Declare) -> None:
    """C1, F2: exit code 0, and it says what became of the queue."""
    declare(calls=(1, rules.HOUR))
    first, second, _ = ask("calls", 3)
    done = cli("release", first, "--yes")
    assert (done.code, done.stderr) == (0, "")
    assert done.stdout == f"Released slot {first} of calls. 1 waiting run started. 1 still waits.\n"
    assert (state(first), state(second)) == ("released", "reserved")


def test_a_release_as_json_is_one_word(cli: Cli, declare: Declare) -> None:
    """C1: released, or ended already; both are done."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    for released in (True, False, False):
        done = cli("release", slot, "--yes", "--json")
        assert (done.code, done.stderr) == (0, "")
        assert json.loads(done.stdout) == {"released": released}


def test_a_release_is_recorded_under_the_user_and_host(cli: Cli, declare: Declare) -> None:
    """O7: who, from where and why; a variable that anybody can set names nobody."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls", label="call-17")
    assert (
        cli("release", slot, "--yes", "--reason", " ended at the provider ", env={"USER": "eve", "LOGNAME": "eve"}).code
        == 0
    )
    (change, *_) = queries.changes(limit="calls").items
    assert (change.kind, change.source, change.slot_id, change.label) == ("release", "cli", slot, "call-17")
    assert change.reason == "ended at the provider"
    user, _, host = change.actor.partition("@")
    assert user == subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    assert host == os.uname().nodename


def test_a_slot_that_had_ended_is_no_error_and_says_how(cli: Cli, declare: Declare, clock: Clock) -> None:
    """C1, case 43: exit code 0, in words."""
    declare(calls=(2, rules.HOUR))
    released, expired = ask("calls", 2)
    engine.release(released, actor=Actor(name="eve\u202e@desk", source="cli"))
    done = cli("release", released, "--yes")
    assert done.code == 0
    assert done.stdout == rf"Nothing changed: slot {released} had already ended (released by eve\u202e@desk)." + "\n"
    clock.advance(2 * rules.HOUR)
    assert f"slot {expired} had already ended (taken back at max hold)." in cli("release", expired, "--yes").stdout


def test_a_slot_that_is_not_busy_is_refused(cli: Cli, declare: Declare) -> None:
    """C1, case 45: a waiting or a reserved one; nothing changes."""
    declare(calls=(1, rules.HOUR))
    first, reserved, waiting = ask("calls", 3)
    engine.release(first, actor=ANA)
    for slot, word in ((reserved, "reserved"), (waiting, "waiting")):
        assert cli("release", slot, "--yes").refusal == f"slot {slot} is not busy but {word}; nothing was released"
        done = cli("release", slot, "--yes", "--json")
        assert (done.code, json.loads(done.stdout)) == (1, {"released": False})
        assert state(slot) == word


@pytest.mark.parametrize(
    "slot",
    [
        "",
        "abc",
        "0",
        "../x",
        "1" * 30,
        str(uuid.uuid4()),
        f"{uuid.uuid4()}\n",
        "' OR 1=1 --",
        "\u202e\x1b[2J",
        "x" * 9_999,
    ],
    ids=lambda slot: ascii(slot)[:12] if len(slot) < 36 else f"{len(slot)} characters",
)
def test_an_id_that_is_none_of_this_boxs_slots_is_refused(cli: Cli, declare: Declare, slot: str) -> None:
    """Cases 45 and 51: message and exit code 1."""
    declare(calls=(1, rules.HOUR))
    done = cli("release", slot, "--yes")
    assert done.code == 1
    assert re.fullmatch(r"no slot ['\"].*['\"].* is known in this box; nothing was released", done.refusal)


def test_a_slot_of_a_limit_no_longer_declared_can_be_released(cli: Cli, declare: Declare) -> None:
    """F1: it needs no config."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    declare()
    assert cli("release", slot, "--yes").code == 0
    assert state(slot) == "released"


@pytest.mark.parametrize("answer", [b"y\n", b"yes\n", b"YES\n", b" Y \n"])
def test_a_terminal_is_asked_and_yes_releases(box: Database, declare: Declare, answer: bytes) -> None:
    """C1, case 44: the question names the slot; what a script reads stays clean."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls", label="call\u202e17", run_id="run-1")
    with Terminal("limits", "release", slot) as terminal:
        terminal.sees("[y/N]")
        assert rf"Release slot {slot} of calls, label call\u202e17, run run-1?" in terminal.shown
        terminal.types(answer)
        assert terminal.ends() == (0, f"Released slot {slot} of calls.\n")
    assert state(slot) == "released"


@pytest.mark.parametrize("answer", [b"\n", b"n\n", b"no\n", b"yy\n", b"yes please\n", b"j\n", b"\xff\n", b"\x04"])
def test_anything_but_yes_releases_nothing(box: Database, declare: Declare, answer: bytes) -> None:
    """Case 44: an empty line, another word, the end of the input; exit code 1."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    with Terminal("limits", "release", slot) as terminal:
        terminal.sees("[y/N]")
        terminal.types(answer)
        assert terminal.ends() == (1, "")
        assert "Error: nothing was released" in terminal.shown
    assert state(slot) == "busy"


def test_ctrl_c_at_the_question_releases_nothing(box: Database, declare: Declare) -> None:
    """Case 44: exit code 130, and no word more."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    with Terminal("limits", "release", slot) as terminal:
        terminal.sees("[y/N]")
        terminal.types(b"\x03")
        assert terminal.ends() == (130, "")
        assert terminal.shown.rstrip().endswith("[y/N] ^C")
    assert state(slot) == "busy"


def test_a_slot_that_ends_while_the_question_stands_is_told(box: Database, declare: Declare) -> None:
    """Case 73's kind: yes to a slot that somebody else released takes no other."""
    declare(calls=(1, rules.HOUR))
    first, second = ask("calls", 2)
    with Terminal("limits", "release", first) as terminal:
        terminal.sees("[y/N]")
        engine.release(first, actor=ANA)
        terminal.types(b"y\n")
        code, printed = terminal.ends()
    assert (code, printed) == (0, f"Nothing changed: slot {first} had already ended (released by ana@desk).\n")
    assert state(second) == "reserved"


def test_the_question_holds_no_connection(box: Database, declare: Declare) -> None:
    """C1: it may stand for hours; a server that restarts meanwhile does not matter."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    with Terminal("limits", "release", slot) as terminal:
        terminal.sees("[y/N]")
        held = box.fetch("SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'stackbone cli'")
        assert held[0]["n"] == 0
        terminal.types(b"y\n")
        assert terminal.ends()[0] == 0


def test_a_slot_that_is_not_busy_is_no_question(box: Database, declare: Declare) -> None:
    """Case 44: a terminal is only asked about what a yes would release."""
    declare(calls=(1, rules.HOUR))
    _, waiting = ask("calls", 2)
    with Terminal("limits", "release", waiting) as terminal:
        assert terminal.ends() == (1, "")
        assert "[y/N]" not in terminal.shown
        assert "is not busy but waiting" in terminal.shown


def test_a_pipe_is_refused_and_told_of_yes(cli: Cli, declare: Declare) -> None:
    """Case 44: at once, refused with exit code 1; neither `echo y |` nor CI=true is an answer."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    piped = run("limits", "release", slot, stdin=None, input=b"y\n", env={"CI": "true"})
    for done in (piped, cli("release", slot), cli("release", slot, env={"CI": "true"}), cli("release", slot, "--json")):
        assert "--yes" in done.refusal
        assert done.code == 1
    assert state(slot) == "busy"


@pytest.mark.parametrize("redirection", ["<&-", "<&- 2>&1", "< /dev/null", ">&- <&-"])
def test_a_closed_input_is_refused_and_told_of_yes(
    box: Database, declare: Declare, tmp_path: Path, redirection: str
) -> None:
    """Case 44: standard input closed, or nothing; no hang, no traceback."""
    declare(calls=(1, rules.HOUR))
    (slot,) = ask("calls")
    done = _in_shell(f"limits release {slot} {redirection}")
    assert done.returncode == 1
    assert "--yes" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert state(slot) == "busy"


def _in_shell(command: str) -> "subprocess.CompletedProcess[str]":
    from tests.cli.conftest import STACKBONE

    return subprocess.run(
        ["bash", "-c", f"{' '.join(STACKBONE)} {command}"], capture_output=True, text=True, timeout=60, check=False
    )
