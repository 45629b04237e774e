"""Clients as processes: killed, frozen, interrupted, forked, with a clock of their own, or in somebody's Django."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from limits import engine, pool, queries
from stackbone.client import Client
from tests.client.conftest import InThread, Program, Start, eventually, fill, labels, release
from tests.conftest import Clock
from tests.relay import Relay

FORKED_PARENT = """
import os, time
from stackbone.client import Client
client = Client()
from threading import Thread
Thread(target=client.acquire, args=("calls",), kwargs={"label": "parent"}, daemon=True).start()
while client._wakeups._connection is None or not client._wakeups._waiters:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    time.sleep(600)
print(child, flush=True)
time.sleep(600)
"""

FORKED_POOL = """
import os, sys
from stackbone.client import Client
client = Client()
with client.slot("calls", label="before", timeout="1m"):
    pass
if os.fork() == 0:
    with client.slot("calls", label="child", timeout="1m") as slot:
        print("child", slot.id, flush=True)
        sys.stdin.readline()
    client.close()
    os._exit(0)
with client.slot("calls", label="parent", timeout="1m") as slot:
    print("parent", slot.id, flush=True)
    os.wait()
client.close()
"""


def test_vanished_clients_leave_the_queue_and_all_others_keep_their_place(
    ask: Callable[..., Program], start: Start, declare: Callable[..., Any], clock: Clock
) -> None:
    """Q7, Q6, case 19: by what happened to its process, a waiter goes or stays; a holder always stays."""
    declare(calls=(1, 7_200_000))
    holder = ask("calls", "holder")
    held = holder.line().split()[1]
    killed, frozen, interrupted = (_queued(ask("calls", name), name) for name in ("killed", "frozen", "interrupted"))
    parent = _queued(start("-c", FORKED_PARENT), "parent")
    child = int(parent.line())
    alive = _queued(ask("calls", "alive"), "alive")

    interrupted.signal(signal.SIGINT)
    assert interrupted.line() == "interrupted"
    assert labels("calls", "waiting") == ["killed", "frozen", "parent", "alive"]

    frozen.signal(signal.SIGSTOP)
    for program in (killed, parent, holder):
        program.signal(signal.SIGKILL)
        program.process.wait()
    gone_at = time.monotonic()
    try:
        # Nobody is given up early, and the killed parent's own child keeps nothing of it alive.
        eventually(lambda: engine.sweep().withdrawn or len(labels("calls", "waiting")) < 4, within=40)
        assert time.monotonic() - gone_at > 19
        eventually(lambda: engine.sweep() is not None and labels("calls", "waiting") == ["frozen", "alive"], within=5)
    finally:
        os.kill(child, signal.SIGKILL)
    assert labels("calls", "busy") == ["holder"]

    assert release(held)
    assert labels("calls", "reserved") == ["frozen"]
    clock.advance(120_000)
    engine.sweep()
    given = alive.line().split()[1]
    assert labels("calls", "waiting") == ["frozen"]

    frozen.signal(signal.SIGCONT)
    assert release(given)
    assert frozen.line().startswith("held")


def test_ctrl_c_while_the_answer_is_under_way_leaves_nothing_behind(
    ask: Callable[..., Program], start: Start, declare: Callable[..., Any], relay: Relay
) -> None:
    """The request has committed, its sender does not know: queued or granted, the slot is given back."""
    declare(calls=(1, 600_000), mails=(1, 600_000))
    fill("calls")
    for limit, state in (("calls", "waiting"), ("mails", "busy")):
        program = start("-c", _READY_TO_ASK.format(limit=limit), environment={"STACKBONE_DATABASE_URL": relay.url})
        assert program.line() == "ready"
        relay.hold_answers()
        program.say()
        eventually(lambda limit=limit, state=state: labels(limit, state)[-1:] == ["cut short"])
        program.signal(signal.SIGINT)
        relay.pass_answers()
        assert program.line() == "interrupted"
        assert labels("calls", "waiting") == labels("mails", "busy") == []


_READY_TO_ASK = """
import sys
from stackbone.client import Client
with Client() as client:
    client._wakeups.process_id()
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        client.acquire("{limit}", label="cut short")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_sigterm_in_a_program_that_exits_on_it_gives_the_slot_back(start: Start, declare: Callable[..., Any]) -> None:
    """Case 10: SystemExit is one more way out of the body."""
    declare(calls=(1, 600_000))
    program = start(
        "-c",
        "import signal, sys, time\n"
        "from stackbone.client import Client\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "with Client() as client, client.slot('calls', label='mine'):\n"
        "    print('held', flush=True)\n"
        "    time.sleep(600)\n",
    )
    assert program.line() == "held"
    program.signal(signal.SIGTERM)
    assert program.process.wait(20) == 7
    assert labels("calls", "busy") == []


def test_the_next_delivery_of_a_killed_task_goes_on_with_its_slot(
    ask: Callable[..., Program], declare: Callable[..., Any], client: Client
) -> None:
    """A5: held or queued, whichever process it lands in."""
    declare(calls=(1, 600_000))
    first = ask("calls", "task", key="celery:1")
    held = first.line().split()[1]
    _queued(ask("calls", "next", key="celery:2"), "next").signal(signal.SIGKILL)
    first.signal(signal.SIGKILL)
    assert client.acquire("calls", key="celery:1").id == held
    again = InThread(lambda: client.acquire("calls", label="next", key="celery:2"))
    eventually(lambda: _process_of("next") == client._wakeups._process_id)
    release(held)
    assert again.outcome().label == "next"


def test_both_sides_of_a_fork_go_on_with_the_client(start: Start, declare: Callable[..., Any]) -> None:
    """A pre-forking server: the child listens for itself, under an id of its own."""
    declare(calls=(1, 600_000))
    [held] = fill("calls")
    program = start("-c", FORKED_POOL)
    eventually(lambda: labels("calls", "waiting") == ["before"])
    release(held)
    said = {}
    name, slot_id = program.line().split()
    said[name] = slot_id
    if name == "parent":
        # The parent waits for its child, which waits for the slot: an operator helps out.
        release(slot_id)
        name, slot_id = program.line().split()
        said[name] = slot_id
    program.say()
    if "parent" not in said:
        assert program.line().startswith("parent")
    assert program.process.wait(20) == 0
    assert len(_process_names()) == 2
    assert labels("calls", "busy") == labels("calls", "waiting") == []


def test_a_script_that_closes_nothing_ends_in_silence(declare: Callable[..., Any]) -> None:
    """No hint of the pool, no warning of a connection, no waiting for threads."""
    declare(calls=(1, 600_000))
    begun = time.monotonic()
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-X",
            "dev",
            "-c",
            "from stackbone.client import Client\nslot = Client().acquire('calls', timeout='1m')\nslot.release()\n",
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert time.monotonic() - begun < 10


def test_the_client_needs_no_django_and_no_settings(declare: Callable[..., Any]) -> None:
    """In a script nothing of Django is loaded; in somebody else's project it keeps to itself."""
    declare(calls=(1, 600_000))
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "not.ours"}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\n"
            "from stackbone.client import Client\n"
            "with Client() as client, client.slot('calls', timeout='1m'):\n"
            "    assert not [name for name in sys.modules if name.split('.')[0] == 'django']\n"
            "from django.conf import settings\n"
            "settings.configure(DATABASES={}, INSTALLED_APPS=['django.contrib.contenttypes'])\n"
            "import django; django.setup()\n"
            "with Client() as client, client.slot('calls', timeout='1m'):\n"
            "    print('held')\n",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=True,
    )
    assert done.stdout == "held\n"


@pytest.mark.parametrize("minutes", [10, -10])
def test_a_clock_that_is_wrong_here_changes_nothing_there(
    start: Start, declare: Callable[..., Any], box: pool.Database, minutes: int
) -> None:
    """Case 27, F9: expiry, timeout and reservation go by the database's clock alone."""
    declare(calls=(1, 120_000))
    program = start(
        "-c",
        f"import time; time.time = (lambda real: lambda: real() + {minutes * 60})(time.time)\n"
        "from stackbone.client import Client, SlotTimeoutError\n"
        "with Client() as client:\n"
        "    print(client.acquire('calls', label='held').id, flush=True)\n"
        "    begun = time.monotonic()\n"
        "    try:\n"
        "        client.acquire('calls', timeout='1s')\n"
        "    except SlotTimeoutError:\n"
        "        print(time.monotonic() - begun, flush=True)\n",
    )
    slot = queries.slot(program.line())
    assert slot is not None
    assert slot.expires_at is not None
    assert slot.granted_at is not None
    assert (slot.expires_at - slot.granted_at).total_seconds() == 120
    [row] = box.fetch("SELECT extract(epoch FROM clock_timestamp() - %s) AS age", [slot.granted_at])
    assert 0 <= row["age"] < 60
    assert 1 <= float(program.line()) < 5


def test_a_frozen_listener_holds_nobody_up(
    ask: Callable[..., Program], declare: Callable[..., Any], box: pool.Database
) -> None:
    """Case 96: releases go on, and what it has not read fills nothing."""
    declare(calls=(1, 600_000), mails=(1, 600_000))
    [held] = fill("calls")
    frozen = _queued(ask("calls", "frozen"), "frozen")
    frozen.signal(signal.SIGSTOP)
    for number in range(500):
        slot = engine.request("mails", key=f"a{number}", timeout=0)
        engine.request("mails", key=f"b{number}")
        assert release(str(slot.slot_id))
        assert engine.abandon("mails", f"b{number}", actor=engine.SYSTEM) == "reserved"
    [usage] = box.fetch("SELECT pg_notification_queue_usage() AS used")
    assert usage["used"] < 0.001
    frozen.signal(signal.SIGCONT)
    assert release(held)
    assert frozen.line().startswith("held")


def _queued(program: Program, label: str) -> Program:
    eventually(lambda: label in labels("calls", "waiting"), within=20)
    return program


def _process_of(label: str) -> int | None:
    rows = pool.default().fetch("SELECT worker_id FROM limits.slot WHERE label = %s AND state = 'waiting'", [label])
    return rows[0]["worker_id"] if rows else None


def _process_names() -> set[str]:
    return {row["name"] for row in pool.default().fetch("SELECT name FROM limits.worker")}
