"""The sweep's loop: when it passes, and what can't stop it."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from limits import engine, pool, queries, sweep
from limits.engine import Swept
from tests.client.conftest import eventually, fill, labels, release
from tests.conftest import Clock
from tests.relay import Relay


class Sweeper:
    """A sweep in a thread, and what its passes moved."""

    def __init__(self, url: str, on_pass: Callable[[Swept], None] | None = None) -> None:
        self.passes: list[Swept] = []
        self._database = pool.Database(url, application_name="sweep")
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=sweep.run, args=(self._database, self._stop), kwargs={"on_pass": on_pass or self.passes.append}
        )
        self._thread.start()

    def stop(self) -> float:
        begun = time.monotonic()
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()
        self._database.close()
        return time.monotonic() - begun

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()


type Start = Callable[..., Sweeper]


@pytest.fixture
def start(box: pool.Database) -> Iterator[Start]:
    """Lend `start()`: a sweep on the box; it is stopped at the end."""
    sweepers = []

    def start(url: str = box.url, on_pass: Callable[[Swept], None] | None = None) -> Sweeper:
        sweepers.append(Sweeper(url, on_pass))
        return sweepers[-1]

    yield start
    for sweeper in sweepers:
        sweeper.stop()


@pytest.fixture
def relay(box: pool.Database) -> Iterator[Relay]:
    """Lend a relay that leads to the box."""
    relay = Relay(box.url)
    yield relay
    relay.remove()


def _wait(limit: str, label: str, *, timeout: int = 3_600_000) -> str:
    asked = engine.request(limit, key=label, label=label, timeout=timeout)
    assert asked.state == "waiting"
    return str(asked.slot_id)


def test_what_fell_due_while_nobody_swept_is_settled_at_the_start(
    start: Start, declare: Callable[..., Any], clock: Clock
) -> None:
    """Case 26: both slots are back and two waiters served before anything else; a late release is too late."""
    declare(calls=(2, 60_000))
    held = fill("calls", times=2)
    for label in ("a", "b", "c"):
        _wait("calls", label)
    clock.advance(300_000)
    start()
    eventually(lambda: labels("calls", "reserved") == ["a", "b"], within=2)
    assert labels("calls", "waiting") == ["c"]
    assert [release(slot_id) for slot_id in held] == [False, False]


def test_nothing_due_waits_for_the_next_round(start: Start, declare: Callable[..., Any], clock: Clock) -> None:
    """F8: an expiry, a lapse and a timeout, each noticed by the look at the next due time."""
    declare(calls=(1, 600_000))
    fill("calls")
    _wait("calls", "late")
    _wait("calls", "next", timeout=4_000_000)
    _wait("calls", "impatient", timeout=660_000)
    start()
    eventually(lambda: _swept_at() is not None)
    clock.advance(600_000)
    eventually(lambda: labels("calls", "reserved") == ["late"], within=3)
    clock.advance(60_000)
    eventually(lambda: labels("calls", "waiting") == ["next"], within=3)
    clock.advance(60_000)
    eventually(lambda: labels("calls", "reserved") == ["next"], within=3)
    assert labels("calls", "waiting") == ["late"]


def test_a_short_hold_ends_on_time(start: Start, declare: Callable[..., Any]) -> None:
    """F8: on the moment, by the real clock; within the second that a look may take."""
    declare(calls=(1, 1_500))
    start()
    [slot_id] = fill("calls")
    slot = eventually(lambda: (row := queries.slot(slot_id)) and row.ended_at and row, within=5)
    assert slot.state == "expired"
    assert 0 <= (slot.ended_at - slot.expires_at).total_seconds() < 1.2


def test_the_loop_stops_at_once(start: Start) -> None:
    """It waits for the stop, not for the clock."""
    sweeper = start()
    eventually(lambda: _swept_at() is not None)
    assert sweeper.stop() < 1


def test_an_idle_sweep_is_cheap(start: Start, relay: Relay, declare: Callable[..., Any]) -> None:
    """Case 97: one small read a second while nothing is due."""
    declare(calls=(1, 600_000))
    fill("calls")
    start(relay.url)
    eventually(lambda: _swept_at() is not None)
    sent, until = relay.sent, time.monotonic() + 4
    eventually(lambda: time.monotonic() > until)
    assert relay.sent - sent <= 8


def test_an_outage_is_outlived_and_told_once(
    start: Start, declare: Callable[..., Any], clock: Clock, relay: Relay, caplog: pytest.LogCaptureFixture
) -> None:
    """Case 28: the log says when the sweep stood still and when it works again; what fell due meanwhile is settled."""
    declare(calls=(1, 600_000))
    fill("calls")
    _wait("calls", "a")
    caplog.set_level(logging.WARNING, "limits.sweep")
    sweeper = start(relay.url)
    eventually(lambda: _swept_at() is not None)
    relay.cut()
    eventually(lambda: "stands still" in caplog.text)
    clock.advance(600_000)
    until = time.monotonic() + 5
    eventually(lambda: time.monotonic() > until)
    assert labels("calls", "reserved") == []
    relay.mend()
    # However long the outage was: what tries to connect must not slow down without end.
    eventually(lambda: labels("calls", "reserved") == ["a"], within=4)
    eventually(lambda: "works again" in caplog.text)
    assert caplog.text.count("stands still") == 1
    assert sweeper.alive


def test_terminated_connections_are_replaced(
    start: Start, declare: Callable[..., Any], clock: Clock, box: pool.Database
) -> None:
    """Case 28: an expiry and a lapse are both settled afterwards, with no restart."""
    declare(calls=(1, 600_000))
    fill("calls")
    _wait("calls", "a")
    start()
    eventually(lambda: _swept_at() is not None)
    for milliseconds, state, label in ((600_000, "reserved", "a"), (120_000, "reserved", "b")):
        box.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sweep'")
        if label == "b":
            _wait("calls", "b")
        clock.advance(milliseconds)
        eventually(lambda state=state, label=label: labels("calls", state) == [label], within=10)


def test_a_sweep_that_starts_without_its_box_begins_when_the_box_comes(
    start: Start, declare: Callable[..., Any], clock: Clock, relay: Relay
) -> None:
    """Case 92: no restart is needed."""
    declare(calls=(1, 1_000))
    fill("calls")
    clock.advance(1_000)
    relay.cut()
    start(relay.url)
    relay.mend()
    eventually(lambda: labels("calls", "busy") == [], within=15)


def test_an_error_in_what_hears_of_a_pass_does_not_end_the_sweep(
    start: Start, declare: Callable[..., Any], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Case 28: nothing ends it quietly; the log has the traceback."""

    def fail(swept: Swept) -> None:
        raise RuntimeError("no paper in the printer")

    declare(calls=(1, 1_000))
    sweeper = start(on_pass=fail)
    for _ in range(2):
        fill("calls")
        clock.advance(1_000)
        eventually(lambda: labels("calls", "busy") == [])
    eventually(lambda: caplog.text.count("no paper in the printer") >= 2)
    assert sweeper.alive


def test_a_pass_is_told_even_if_its_history_fails(
    start: Start, declare: Callable[..., Any], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F8: what was committed is told, whatever follows in the pass."""
    declare(calls=(1, 60_000))
    fill("calls")
    clock.advance(60_000)

    def fail(**_: Any) -> None:
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(engine, "roll_up", fail)
    sweeper = start()
    assert eventually(lambda: sweeper.passes)[0].expired == 1


def test_two_sweeps_settle_each_thing_once(
    start: Start, declare: Callable[..., Any], clock: Clock, box: pool.Database
) -> None:
    """Case 25: one ending a slot, one grant a freed slot, one lapse a reservation."""
    declare(calls=(5, 60_000))
    sweepers = [start(), start()]
    eventually(lambda: _swept_at() is not None)
    fill("calls", times=5)
    for number in range(10):
        _wait("calls", f"w{number}", timeout=100_000_000)
    early, late = [f"w{number}" for number in range(5)], [f"w{number}" for number in range(5, 10)]
    for reserved in (early, late, early):
        clock.advance(60_000)
        eventually(lambda reserved=reserved: labels("calls", "reserved") == reserved, within=5)
    eventually(lambda: sum(swept.granted for sweeper in sweepers for swept in sweeper.passes) >= 15)
    moved = [swept for sweeper in sweepers for swept in sweeper.passes]
    assert sum(swept.expired for swept in moved) == 5
    # Nobody confirms: each later minute lapses 5 reservations and grants the next 5.
    assert sum(swept.lapsed for swept in moved) == 10
    assert sum(swept.granted for swept in moved) == 15
    assert box.fetch("SELECT sum(missed) AS missed FROM limits.slot") == [{"missed": 10}]
    assert engine.check() == []


def test_old_slots_are_deleted_as_the_sweep_goes(
    start: Start, declare: Callable[..., Any], clock: Clock, box: pool.Database
) -> None:
    """Ended slots stay for 30 days, a batch of older ones goes with each pass."""
    declare(calls=(1, 60_000))
    for days in (2, 29):
        [slot_id] = fill("calls")
        release(slot_id)
        clock.advance(days * 86_400_000)
    start()
    eventually(lambda: box.fetch("SELECT count(*) FROM limits.slot") == [{"count": 1}])


def _swept_at() -> Any:
    return pool.default().fetch("SELECT swept_at FROM limits.box")[0]["swept_at"]
