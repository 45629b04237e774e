"""Waiting: whoever is granted a slot learns of it, whatever is lost on the way, and nobody asks all the time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from limits import engine, pool, queries, wakeups
from limits.wakeups import Waiter, Wakeups
from stackbone.client import Client, SlotTimeoutError
from tests.client.conftest import ACTOR, InThread, eventually, fill, labels, release
from tests.conftest import Clock
from tests.relay import Relay


def test_a_release_wakes_the_first_in_the_queue(client: Client, declare: Callable[..., Any]) -> None:
    """F6: by push; the next question for everybody would come much later."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    first = InThread(lambda: client.acquire("calls", label="first"))
    eventually(lambda: labels("calls", "waiting") == ["first"])
    second = InThread(lambda: client.acquire("calls", label="second"))
    eventually(lambda: labels("calls", "waiting") == ["first", "second"])
    for waiting in (first, second):
        begun = time.monotonic()
        release(held)
        held = waiting.outcome().id
        assert time.monotonic() - begun < 1


def test_a_raised_capacity_wakes_as_many_as_fit(client: Client, declare: Callable[..., Any]) -> None:
    """F4: in the order of the queue."""
    declare(calls=(1, 60_000))
    fill("calls")
    waiting = []
    for name in ("a", "b", "c"):
        waiting.append(InThread(lambda name=name: client.acquire("calls", label=name)))
        eventually(lambda name=name: name in labels("calls", "waiting"))
    engine.edit("calls", actor=ACTOR, capacity=3)
    assert [one.outcome().label for one in waiting[:2]] == ["a", "b"]
    assert labels("calls", "waiting") == ["c"]
    engine.edit("calls", actor=ACTOR, capacity=4)
    assert waiting[2].outcome().label == "c"


def test_a_grant_between_the_request_and_the_wait_is_not_lost(
    client: Client, declare: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F6: the notification goes out before anybody listens for this slot."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    watch, ring = Wakeups.watch, Wakeups._ring
    heard = []

    def hear(self: Wakeups, slot_id: str) -> None:
        ring(self, slot_id)
        heard.append(slot_id)

    @contextmanager
    def late(self: Wakeups, slot_id: str) -> Iterator[Waiter]:
        release(held)
        eventually(lambda: slot_id in heard)
        with watch(self, slot_id) as waiter:
            yield waiter

    monkeypatch.setattr(Wakeups, "_ring", hear)
    monkeypatch.setattr(Wakeups, "watch", late)
    monkeypatch.setattr(wakeups, "ASK_EVERY", 600.0)
    begun = time.monotonic()
    client.acquire("calls", label="late")
    assert time.monotonic() - begun < 2


def test_a_grant_without_any_notification_is_found_within_seconds(
    client: Client, declare: Callable[..., Any], box: pool.Database
) -> None:
    """A wake-up is only a hint: the state of all who wait is asked for every few seconds."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    waiting = InThread(lambda: client.acquire("calls", label="deaf"))
    eventually(lambda: labels("calls", "waiting"))
    [row] = box.fetch("SELECT pg_get_functiondef('limits.grant_free'::regproc) AS text")
    with box.connection() as connection:
        connection.execute(row["text"].replace("pg_notify(", "concat("))
        release(held)
        connection.execute(row["text"])
    assert labels("calls", "reserved") == ["deaf"]
    assert waiting.outcome(within=wakeups.ASK_EVERY + 2).label == "deaf"


def test_a_notification_lost_with_the_connection_is_made_up_for(
    far_client: Client, declare: Callable[..., Any], relay: Relay
) -> None:
    """Case 28: the grant happens while the listener is away."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    waiting = InThread(lambda: far_client.acquire("calls", label="away"))
    eventually(lambda: labels("calls", "waiting"))
    relay.cut()
    release(held)
    assert labels("calls", "reserved") == ["away"]
    relay.mend()
    assert waiting.outcome().label == "away"


def test_a_half_open_connection_is_noticed(
    far_client: Client, declare: Callable[..., Any], relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing arrives any more, no error either: the unanswered question tells."""
    monkeypatch.setattr(wakeups, "ASK_EVERY", 1.0)
    monkeypatch.setattr(wakeups, "ANSWER_WITHIN", 1.0)
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    waiting = InThread(lambda: far_client.acquire("calls", label="half"))
    eventually(lambda: labels("calls", "waiting"))
    relay.stall_listener()
    release(held)
    assert waiting.outcome(within=8).label == "half"


def test_a_notification_in_one_piece_with_an_answer_is_heard_at_once(declare: Callable[..., Any], relay: Relay) -> None:
    """F6: as when the process gets no time to read in between; the socket has nothing more to say of it."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    armed, answered, handed = threading.Event(), threading.Event(), []

    def answer(pair: Any) -> None:
        while data := pair.server.recv(65_536):
            if pair.listens and armed.is_set() and not handed:
                answered.set()
                while b"limits_wake" not in data:
                    data += pair.server.recv(65_536)
                handed.append(time.monotonic())
            pair.client.sendall(data)

    relay._answer = answer  # type: ignore[method-assign]
    with Client(relay.url) as client:
        waiting = InThread(lambda: (client.acquire("calls"), time.monotonic())[1])
        eventually(lambda: labels("calls", "waiting"))
        armed.set()
        assert answered.wait(2 * wakeups.ASK_EVERY)
        release(held)
        assert waiting.outcome(2 * wakeups.ASK_EVERY) - handed[0] < 1


def test_waits_outlast_restarts_of_every_connection(
    client: Client, declare: Callable[..., Any], box: pool.Database
) -> None:
    """Case 92, Q2: same order, and the same process in the box's eyes."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    waiting = []
    for name in ("a", "b"):
        waiting.append(InThread(lambda name=name: client.acquire("calls", label=name)))
        eventually(lambda name=name: name in labels("calls", "waiting"))
    for _ in range(3):
        listener = _listener(box)
        box.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'stackbone client'")
        eventually(lambda gone=listener: _listener(box) not in (None, gone))
    release(held)
    assert waiting[0].outcome().label == "a"
    assert labels("calls", "waiting") == ["b"]
    assert box.fetch("SELECT count(*) FROM limits.worker") == [{"count": 1}]


def test_a_wait_whose_time_ran_out_during_an_outage_ends_when_the_box_is_back(
    far_client: Client, declare: Callable[..., Any], relay: Relay, clock: Clock
) -> None:
    """Case 20: the deadline is the database's, and an overdue waiter is never granted."""
    declare(calls=(1, 7_200_000))
    [held] = fill("calls")
    waiting = InThread(lambda: far_client.acquire("calls", timeout="3m"))
    eventually(lambda: labels("calls", "waiting"))
    relay.cut()
    clock.advance(200_000)
    release(held)
    assert labels("calls", "reserved") == []
    relay.mend()
    with pytest.raises(SlotTimeoutError):
        waiting.outcome()


def test_a_client_found_withdrawn_asks_again_with_what_is_left(
    client: Client, declare: Callable[..., Any], clock: Clock
) -> None:
    """Q7: at the end of the queue, its deadline where it was."""
    declare(calls=(1, 7_200_000))
    fill("calls")
    first = InThread(lambda: client.acquire("calls", label="first", timeout="1h"))
    before = eventually(lambda: queries.slots("calls", state="waiting").items)[0]
    InThread(lambda: client.acquire("calls", label="second"))
    eventually(lambda: labels("calls", "waiting") == ["first", "second"])
    clock.advance(1_800_000)
    engine.withdraw(before.id, actor=ACTOR)
    eventually(lambda: labels("calls", "waiting") == ["second", "first"])
    after = queries.slots("calls", state="waiting").items[1]
    assert after.id != before.id
    assert abs((after.times_out_at - before.times_out_at).total_seconds()) < 5
    clock.advance(1_800_000)
    engine.sweep()
    with pytest.raises(SlotTimeoutError) as caught:
        first.outcome()
    assert caught.value.timeout == 3_600_000


def test_a_client_whose_process_was_given_up_joins_anew(
    client: Client, declare: Callable[..., Any], box: pool.Database
) -> None:
    """Q7: the id that ended never comes back, the client goes on under another."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    waiting = InThread(lambda: client.acquire("calls", label="back"))
    before = eventually(lambda: queries.slots("calls", state="waiting").items)[0]
    box.fetch("UPDATE limits.worker SET ended_at = clock_timestamp(), gone_since = clock_timestamp() RETURNING id")
    engine.withdraw(before.id, actor=ACTOR)
    eventually(lambda: labels("calls", "waiting") == ["back"])
    assert box.fetch("SELECT count(*) FROM limits.worker WHERE ended_at IS NULL") == [{"count": 1}]
    release(held)
    assert waiting.outcome().label == "back"


def test_no_newcomer_overtakes_whoever_waits(client: Client, declare: Callable[..., Any]) -> None:
    """Case 16: one that tries all the time gets its first slot when the last waiter has had its turn."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    turns: list[str | None] = []

    def take_a_turn(label: str) -> None:
        with client.slot("calls", label=label):
            turns.append(label)

    waiting = []
    for number in range(1, 6):
        waiting.append(InThread(lambda label=f"W{number}": take_a_turn(label)))
        eventually(lambda label=f"W{number}": label in labels("calls", "waiting"))

    def newcomer() -> None:
        while True:
            try:
                slot = client.acquire("calls", label="newcomer", timeout=0)
            except SlotTimeoutError:
                continue
            turns.append("newcomer")
            slot.release()
            return

    trying = InThread(newcomer)
    release(held)
    for one in (*waiting, trying):
        one.outcome()
    assert turns == ["W1", "W2", "W3", "W4", "W5", "newcomer"]


def test_two_hundred_waiting_threads_cost_five_connections_and_next_to_no_traffic(
    far_client: Client, declare: Callable[..., Any], relay: Relay, box: pool.Database
) -> None:
    """Q3, case 94: no connection, transaction or query of its own for a wait."""
    declare(calls=(1, 600_000))
    fill("calls")
    waiting = [InThread(lambda: far_client.acquire("calls")) for _ in range(200)]
    eventually(lambda: _state(box, "calls")["waiting"] == 200, within=30)
    assert relay.connections <= 5
    eventually(lambda: len(far_client._wakeups._waiters) == 200)
    _quiet(relay)
    sent, until = relay.sent, time.monotonic() + 2 * wakeups.ASK_EVERY
    while time.monotonic() < until:
        idle = box.fetch(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stackbone client'"
            " AND (state <> 'idle' OR backend_xmin IS NOT NULL) AND now() - state_change > interval '1 second'"
        )
        assert idle == [{"count": 0}]
        time.sleep(0.5)
    # Two questions for all of them; 200 that polled each second would have sent 2,000.
    assert relay.sent - sent <= 4
    engine.edit("calls", actor=ACTOR, capacity=201)
    assert len({one.outcome(within=20).id for one in waiting}) == 200
    assert relay.connections <= 5


def _quiet(relay: Relay) -> None:
    """Wait until nobody has said anything for a second."""
    while True:
        sent = relay.sent
        time.sleep(1)
        if relay.sent == sent:
            return


def _state(box: pool.Database, limit: str) -> dict[str, Any]:
    return box.fetch("SELECT waiting, reserved, busy FROM limits.limit WHERE name = %s", [limit])[0]


def _listener(box: pool.Database) -> int | None:
    rows = box.fetch(
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND granted", [engine.PROCESS_LOCK_CLASS]
    )
    return rows[0]["pid"] if rows else None
