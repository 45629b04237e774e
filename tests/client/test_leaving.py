"""Leaving in a hurry: interrupted, closed, cut off. What is ours is given back, what is another's stays."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from limits import engine, pool, queries
from limits.errors import BoxBusyError
from stackbone.client import Client, ClosedError
from tests.client.conftest import InThread, eventually, fill, labels, release
from tests.relay import Relay

HOLDER = """
import sys
from stackbone.client import Client
with Client() as client:
    try:
        with client.slot("calls", label="x"):
            print("in", flush=True)
            sys.stdin.readline()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def locked(box: pool.Database, limit: str) -> Iterator[None]:
    """Keep the limit locked, as somebody else's open transaction does."""
    with psycopg.connect(box.url) as somebody:
        somebody.execute("SELECT limits.lock_limit(id) FROM limits.limit WHERE name = %s", [limit])
        yield


def wait_for_lock(box: pool.Database) -> None:
    """Wait until somebody waits for a limit's lock."""
    eventually(lambda: box.fetch("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))


def test_an_interrupted_delivery_takes_no_slot_from_the_one_that_holds(
    box: pool.Database, declare: Callable[..., Any], ask: Callable[..., Any]
) -> None:
    """A5: two deliveries of one task; the second is interrupted while it asks."""
    declare(calls=(1, 600_000))
    first = ask("calls", "task", key="celery:1")
    first.line()
    ask("calls", "next")
    eventually(lambda: labels("calls", "waiting") == ["next"])
    with locked(box, "calls"):
        second = ask("calls", "task", key="celery:1")
        wait_for_lock(box)
        second.signal(signal.SIGINT)
    second.line()
    assert (labels("calls", "busy"), labels("calls", "waiting")) == (["task"], ["next"])


def test_an_interrupted_delivery_leaves_the_place_to_the_one_that_took_it_over(
    box: pool.Database, declare: Callable[..., Any], ask: Callable[..., Any]
) -> None:
    """A5, Q1: redelivered while the first one waits; that one's end is no longer the place's."""
    declare(calls=(1, 600_000))
    fill("calls")
    first = ask("calls", "task", key="celery:1")
    eventually(lambda: labels("calls", "waiting"))
    [asked] = box.fetch("SELECT asker FROM limits.slot WHERE key = 'celery:1'")
    ask("calls", "task", key="celery:1")
    eventually(lambda: box.fetch("SELECT asker FROM limits.slot WHERE key = 'celery:1'") != [asked])
    ask("calls", "next")
    eventually(lambda: labels("calls", "waiting") == ["task", "next"])
    first.signal(signal.SIGINT)
    first.line()
    assert labels("calls", "waiting") == ["task", "next"]


def test_an_interrupt_while_the_slot_is_given_back_only_puts_that_off(
    box: pool.Database, declare: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """A8: Ctrl-C, or a task's time limit, at the worst moment."""
    declare(calls=(1, 600_000))
    program = start("-c", HOLDER)
    assert program.line() == "in"
    with locked(box, "calls"):
        program.say()
        wait_for_lock(box)
        program.signal(signal.SIGINT)
        assert program.line() == "interrupted"
    eventually(lambda: labels("calls", "busy") == [])


def test_a_second_interrupt_leaves_no_ghost_in_the_queue(
    box: pool.Database, declare: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """Q7: the first Ctrl-C ends the wait, the second comes while the place is given up."""
    declare(calls=(1, 600_000))
    fill("calls")
    program = start("-c", HOLDER)
    eventually(lambda: labels("calls", "waiting") == ["x"])
    with locked(box, "calls"):
        program.signal(signal.SIGINT)
        wait_for_lock(box)
        program.signal(signal.SIGINT)
        assert program.line() == "interrupted"
    eventually(lambda: labels("calls", "waiting") == [])


def test_closing_while_a_lost_answer_is_asked_for_again_gives_the_slot_back(
    declare: Callable[..., Any], relay: Relay
) -> None:
    """A5: the request had been committed; nobody else will ever know its slot."""
    declare(calls=(1, 600_000))
    client = Client(relay.url)
    client._wakeups.process_id()
    client._db.fetch("SELECT 1")
    relay.hold_answers()
    asking = InThread(lambda: client.acquire("calls"))
    eventually(lambda: labels("calls", "busy"))
    relay.cut()
    closing = InThread(client.close)
    eventually(lambda: client._wakeups.closed)
    relay.pass_answers()
    relay.mend()
    with pytest.raises(ClosedError):
        asking.outcome(20)
    closing.outcome(20)
    eventually(lambda: labels("calls", "busy") == [])


def test_closing_between_the_answer_and_the_wait_leaves_no_ghost(declare: Callable[..., Any], relay: Relay) -> None:
    """Q7: the slot that frees goes to the next at once."""
    declare(calls=(1, 600_000))
    [held] = fill("calls")
    client = Client(relay.url)
    client._wakeups.process_id()
    client._db.fetch("SELECT 1")
    relay.hold_answers()
    asking = InThread(lambda: client.acquire("calls", label="ghost"))
    eventually(lambda: labels("calls", "waiting") == ["ghost"])
    closing = InThread(client.close)
    eventually(lambda: client._wakeups.closed)
    relay.pass_answers()
    with pytest.raises(ClosedError):
        asking.outcome(20)
    closing.outcome(20)
    eventually(lambda: labels("calls", "waiting") == [])
    release(held)
    assert labels("calls", "reserved") == []


def test_an_error_of_the_database_itself_delays_the_release_and_hides_nothing(
    box: pool.Database, declare: Callable[..., Any], client: Client
) -> None:
    """A8, case 10: the body's own error comes out, and the slot is free in the end."""
    declare(calls=(1, 600_000))

    def body() -> None:
        with client.slot("calls"):
            with psycopg.connect(box.url, autocommit=True) as operator:
                operator.execute(
                    "CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS"
                    " $$ BEGIN RAISE EXCEPTION 'a page is damaged' USING ERRCODE = 'data_corrupted'; END $$"
                )
                operator.execute(
                    "CREATE TRIGGER fail BEFORE UPDATE ON limits.slot FOR EACH ROW EXECUTE FUNCTION public.fail()"
                )
            raise ValueError("the body's own")

    try:
        with pytest.raises(ValueError, match="the body's own"):
            body()
    finally:
        with psycopg.connect(box.url, autocommit=True) as operator:
            operator.execute("DROP FUNCTION public.fail CASCADE")
    eventually(lambda: labels("calls", "busy") == [])


def test_a_limit_that_is_locked_silences_no_wake_up_of_another(
    box: pool.Database, declare: Callable[..., Any], client: Client
) -> None:
    """F6, case 94: what the process owes one limit waits, whoever waits for another hears at once."""
    declare(calls=(1, 600_000), mails=(1, 600_000))
    [held] = fill("mails")
    slot = client.acquire("calls")
    waiting = InThread(lambda: client.acquire("mails"))
    eventually(lambda: queries.limit("mails").waiting)  # type: ignore[union-attr]
    with locked(box, "calls"):
        client._owed.add(slot.release)
        wait_for_lock(box)
        begun = time.monotonic()
        release(held)
        waiting.outcome()
        assert time.monotonic() - begun < 2
    eventually(lambda: labels("calls", "busy") == [])


def test_a_limit_that_stays_locked_ends_the_call_within_its_timeout(
    box: pool.Database, declare: Callable[..., Any], client: Client
) -> None:
    """A6: trying once is no wait for whoever keeps a lock."""
    declare(calls=(1, 600_000))
    with locked(box, "calls"), pytest.raises(BoxBusyError, match="keeps the limit locked"):
        client.acquire("calls", timeout=0)
    assert labels("calls", "busy") == []


def test_a_listener_that_could_not_start_starts_at_the_next_call(
    declare: Callable[..., Any], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Q7: threads may be scarce for a moment."""
    declare(calls=(1, 600_000))
    real, refused = threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        if thread.name == "stackbone-wakeups" and not refused:
            refused.append(thread)
            raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="new thread"):
        client.acquire("calls")
    assert client.acquire("calls").limit == "calls"


FORKING = """
import os, time
from stackbone.client import Client
client = Client()
connect = client._db.connect
made = []

def connect_and_fork():
    connection = connect()
    made.append(connection)
    if len(made) == 1 and os.fork() == 0:
        time.sleep(600)
    return connection

client._db.connect = connect_and_fork
client.acquire("calls")
"""


def test_a_child_that_began_while_the_listener_connected_keeps_no_session_of_its_parent(
    box: pool.Database, declare: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """Q7: the parent is killed, the child lives on with its copy of the socket; the parent counts as gone."""
    declare(calls=(1, 600_000))
    fill("calls")
    program = start("-c", FORKING)
    eventually(lambda: labels("calls", "waiting"))
    program.process.kill()

    def seen_gone() -> bool:
        engine.sweep()
        return box.fetch("SELECT gone_since IS NOT NULL AS gone FROM limits.worker") == [{"gone": True}]

    eventually(seen_gone)


OWING = """
import os, sys
from stackbone.client import Client
client = Client()
slot = client.acquire("calls", timeout=0)
print("holds", flush=True)
sys.stdin.readline()
client._owed.add(slot.release)
sys.stdin.readline()
if os.fork() == 0:
    mine = client.acquire("mails", timeout=0)
    client._owed.add(mine.release)
    done = client._owed.wait(5)
    print("child", done, flush=True)
    os._exit(0)
os.wait()
print("parent", client._owed.wait(20), flush=True)
"""


def test_both_sides_of_a_fork_do_what_they_owe(
    box: pool.Database, declare: Callable[..., Any], start: Callable[..., Any]
) -> None:
    """F1: a child forked while its parent owes the box a release can still give back what it holds itself."""
    declare(calls=(1, 600_000), mails=(1, 600_000))
    program = start("-c", OWING)
    assert program.line() == "holds"
    with locked(box, "calls"):
        program.say()
        wait_for_lock(box)
        program.say()
        assert program.line() == "child True"
        assert labels("mails", "busy") == []
    assert program.line() == "parent True"
    assert labels("calls", "busy") == []
