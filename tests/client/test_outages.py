"""Giving back while the box is away: nothing is lost, and nothing of the body's own end is hidden."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from limits import pool
from stackbone import client as module
from stackbone.client import BoxUnreachableError, Client
from tests.client.conftest import InThread, eventually, fill, labels
from tests.relay import Relay


def test_a_release_survives_a_broken_connection(
    client: Client, declare: Callable[..., Any], box: pool.Database
) -> None:
    """Case 10: the body's result comes out, the slot is free in the end."""
    declare(calls=(1, 600_000))

    def work() -> str:
        with client.slot("calls"):
            _break_all(box)
            return "done"

    assert work() == "done"
    assert labels("calls", "busy") == []


def test_a_request_survives_broken_connections(client: Client, declare: Callable[..., Any], box: pool.Database) -> None:
    """Every connection of the pool may be stale after a restart of the server."""
    declare(calls=(20, 600_000))
    several = [InThread(lambda: client.acquire("calls")) for _ in range(8)]
    for one in several:
        one.outcome()
    _break_all(box)
    client.acquire("calls")
    assert len(labels("calls", "busy")) == 9


def test_a_release_whose_answer_was_lost_still_counts(
    far_client: Client, declare: Callable[..., Any], relay: Relay
) -> None:
    """Case 50: the retry is the same release, so it hears that it was the one."""
    declare(calls=(1, 600_000))
    slot = far_client.acquire("calls", timeout=0)
    relay.hold_answers()
    releasing = InThread(lambda: far_client.release(slot.id))
    eventually(lambda: labels("calls", "busy") == [])
    relay.drop()
    relay.pass_answers()
    assert releasing.outcome().released


@pytest.mark.parametrize("fails", [False, True])
def test_a_long_outage_delays_the_release_and_hides_nothing(
    far_client: Client,
    declare: Callable[..., Any],
    relay: Relay,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    fails: bool,
) -> None:
    """Case 10: the log says that the slot is still held; it is given back once the box answers."""
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    declare(calls=(1, 600_000))

    def work() -> str:
        with far_client.slot("calls") as slot:
            relay.cut()
            if fails:
                raise ValueError(slot.id)
            return slot.id

    with caplog.at_level(logging.WARNING, "stackbone.client"):
        try:
            slot_id = work()
        except ValueError as error:
            slot_id = str(error)
    assert slot_id in caplog.text
    assert len(labels("calls", "busy")) == 1
    relay.mend()
    eventually(lambda: labels("calls", "busy") == [])


def test_a_request_that_got_no_answer_leaves_no_ghost_in_the_queue(
    far_client: Client, declare: Callable[..., Any], relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It committed, the box went away, the caller got an error: its place goes once the box is back."""
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    declare(calls=(1, 600_000))
    fill("calls")
    far_client._wakeups.process_id()
    relay.hold_answers()
    asking = InThread(lambda: far_client.acquire("calls", label="ghost"))
    eventually(lambda: labels("calls", "waiting") == ["ghost"])
    relay.cut()
    relay.pass_answers()
    with pytest.raises(BoxUnreachableError):
        asking.outcome(within=30)
    assert labels("calls", "waiting") == ["ghost"]
    relay.mend()
    eventually(lambda: labels("calls", "waiting") == [])


def _break_all(box: pool.Database) -> None:
    box.fetch(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'stackbone client'"
    )
