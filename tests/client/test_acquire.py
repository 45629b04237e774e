"""Taking a slot and giving it back, without anybody in the way."""

import json
import re
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from limits import engine, pool, queries
from stackbone.client import (
    BoxUnreachableError,
    Client,
    ClosedError,
    InvalidValueError,
    SlotTimeoutError,
    UnknownLimitError,
)
from tests.client.conftest import ACTOR, InThread, eventually, fill, labels, release
from tests.conftest import Clock


def test_a_free_slot_is_busy_at_once(client: Client, declare: Callable[..., Any]) -> None:
    """A2: no queue, no reservation."""
    declare(calls=(2, 60_000))
    slot = client.acquire("calls", label="call-17")
    [row] = queries.slots("calls", state="busy").items
    assert (row.id, row.label, row.limit) == (slot.id, "call-17", "calls")
    assert (slot.limit, slot.label) == ("calls", "call-17")


def test_trying_once_on_a_full_limit_queues_nothing(client: Client, declare: Callable[..., Any]) -> None:
    """A6: a timeout of zero, in each way to write it."""
    declare(calls=(1, 60_000))
    fill("calls")
    for zero in (0, "0s", timedelta(0)):
        with pytest.raises(SlotTimeoutError) as caught:
            client.acquire("calls", timeout=zero)
        assert (caught.value.limiter, caught.value.timeout) == ("calls", 0)
    assert labels("calls", "waiting") == []


def test_trying_once_needs_no_listener(client: Client, declare: Callable[..., Any]) -> None:
    """A6: what never queues costs no second connection."""
    declare(calls=(1, 60_000))
    client.acquire("calls", timeout=0)
    client.release("nonsense")
    assert [t.name for t in threading.enumerate() if t.name == "stackbone-wakeups"] == []


def test_an_unknown_limit_is_named_with_near_ones(client: Client, declare: Callable[..., Any]) -> None:
    """A4: an error at once, and nothing is left behind."""
    declare(**{"voice-calls": (1, 60_000)})
    with pytest.raises(UnknownLimitError, match="voice-calls"):
        client.acquire("voice-call")


@pytest.mark.parametrize(
    "values",
    [
        {"label": "x" * 201},
        {"label": "line\nbreak"},
        {"label": "\ud800"},
        {"timeout": "1.5h"},
        {"timeout": True},
        {"timeout": "366d"},
        {"timeout": -1},
        {"key": ""},
        {"key": "x" * 201},
    ],
)
def test_odd_values_are_refused_before_anything_is_stored(
    client: Client, declare: Callable[..., Any], values: dict[str, Any]
) -> None:
    """A4, A6, D3: the error names the value, the limit stays empty."""
    declare(calls=(1, 60_000))
    with pytest.raises(InvalidValueError, match=next(iter(values))):
        client.acquire("calls", **values)
    assert labels("calls", "busy") == []


def test_a_wait_ends_with_its_timeout_though_nobody_sweeps(client: Client, declare: Callable[..., Any]) -> None:
    """Q4: the error carries limit and timeout, and the queue is empty again."""
    declare(calls=(1, 60_000))
    fill("calls")
    begun = time.monotonic()
    with pytest.raises(SlotTimeoutError) as caught:
        client.acquire("calls", timeout="300ms")
    assert 0.3 <= time.monotonic() - begun < 2
    assert (caught.value.limiter, caught.value.timeout) == ("calls", 300)
    assert labels("calls", "waiting") == []


def test_the_timeout_goes_by_the_database_clock(client: Client, declare: Callable[..., Any], clock: Clock) -> None:
    """F9: an hour passes there, and the sweep wakes the waiter."""
    declare(calls=(1, 7_200_000))
    fill("calls")
    waiting = InThread(lambda: client.acquire("calls", timeout="1h"))
    eventually(lambda: labels("calls", "waiting"))
    clock.advance(3_600_000)
    engine.sweep()
    with pytest.raises(SlotTimeoutError):
        waiting.outcome(within=3)


def test_the_same_key_finds_the_same_slot(client: Client, declare: Callable[..., Any]) -> None:
    """A5: a task delivered twice holds one slot; released, it is asked for anew."""
    declare(calls=(2, 60_000))
    first = client.acquire("calls", key="celery:1")
    assert client.acquire("calls", key="celery:1").id == first.id
    assert len(labels("calls", "busy")) == 1
    assert first.release().released
    assert client.acquire("calls", key="celery:1").id != first.id


def test_the_same_key_waits_in_one_place(client: Client, declare: Callable[..., Any]) -> None:
    """A5: two deliveries at once wait as one, and get one slot."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    waiting = [InThread(lambda: client.acquire("calls", key="celery:1", label="task").id) for _ in range(2)]
    eventually(lambda: len(client._wakeups._waiters) == 1 and len(*client._wakeups._waiters.values()) == 2)
    assert labels("calls", "waiting") == ["task"]
    release(held)
    assert waiting[0].outcome() == waiting[1].outcome()


def test_trying_once_does_not_join_the_wait_of_another_delivery(client: Client, declare: Callable[..., Any]) -> None:
    """A6: nor does it end that wait."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    waiting = InThread(lambda: client.acquire("calls", key="celery:1"))
    eventually(lambda: labels("calls", "waiting"))
    with pytest.raises(SlotTimeoutError):
        client.acquire("calls", key="celery:1", timeout=0)
    release(held)
    assert waiting.outcome().limit == "calls"


def reserve(declare: Callable[..., Any], *, key: str, timeout: int) -> str | None:
    """Let the one slot of calls be reserved for the call named by the key, and return its id."""
    declare(calls=(1, 600_000))
    [held] = fill("calls")
    asked = engine.request("calls", key=key, timeout=timeout)
    release(held)
    return asked.slot_id


@pytest.mark.parametrize("timeout", [0, "1m"])
def test_a_reservation_is_used_by_the_next_delivery_though_its_time_is_up(
    client: Client, declare: Callable[..., Any], clock: Clock, timeout: str | int
) -> None:
    """Q4, A5: granted in time to a process that froze; the timeout that passed since then takes nothing away."""
    reserved = reserve(declare, key="celery:1", timeout=5_000)
    clock.advance(6_000)
    assert client.acquire("calls", key="celery:1", timeout=timeout).id == reserved
    assert len(labels("calls", "busy")) == 1


def test_a_reservation_that_lapsed_with_its_timeout_is_none(
    client: Client, declare: Callable[..., Any], clock: Clock
) -> None:
    """Q6: after the 2 minutes nothing is left of the wait; trying once takes the free slot like any other call."""
    reserved = reserve(declare, key="celery:1", timeout=5_000)
    clock.advance(121_000)
    assert client.acquire("calls", key="celery:1", timeout=0).id != reserved


def test_a_slot_is_released_once(client: Client, declare: Callable[..., Any]) -> None:
    """F1: any later release, by slot or by id, changes nothing."""
    declare(calls=(1, 60_000))
    slot = client.acquire("calls")
    assert client.release(slot.id).released
    assert not client.release(slot.id).released
    assert not slot.release().released


@pytest.mark.parametrize("slot_id", ["", "abc", "0", "../x", "x\x00", "\ud800", "9" * 30, "'; --"])
def test_an_odd_id_releases_nothing(client: Client, declare: Callable[..., Any], slot_id: str) -> None:
    """F1: it is no error either."""
    declare(calls=(1, 60_000))
    client.acquire("calls")
    assert not client.release(slot_id).released
    assert len(labels("calls", "busy")) == 1


def test_a_slot_that_expired_is_not_taken_from_its_next_holder(
    client: Client, declare: Callable[..., Any], clock: Clock
) -> None:
    """F1, case 9: three late releases leave the next holder alone."""
    declare(calls=(1, 20_000))
    late = client.acquire("calls", label="late")
    clock.advance(20_000)
    engine.sweep()
    client.acquire("calls", label="next")
    assert [client.release(late.id).released for _ in range(3)] == [False] * 3
    assert labels("calls", "busy") == ["next"]


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_with_gives_the_slot_back_and_lets_the_error_out(
    client: Client, declare: Callable[..., Any], error: BaseException
) -> None:
    """Case 10: the very same error."""
    declare(calls=(1, 60_000))

    def fail() -> None:
        with client.slot("calls", label="call-17"):
            assert labels("calls", "busy") == ["call-17"]
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is error
    assert labels("calls", "busy") == []


def test_with_on_a_full_limit_never_runs_its_body(client: Client, declare: Callable[..., Any]) -> None:
    """Case 10: who holds a slot keeps it."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    with pytest.raises(SlotTimeoutError), client.slot("calls", timeout="50ms"):
        pytest.fail("the body ran")
    assert [slot.id for slot in queries.slots("calls", state="busy").items] == [held]


def test_a_slot_inside_its_own_limit_times_out_and_both_are_free(client: Client, declare: Callable[..., Any]) -> None:
    """Case 11: no hang, no second holder."""
    declare(calls=(1, 60_000))
    with pytest.raises(SlotTimeoutError), client.slot("calls"), client.slot("calls", timeout="100ms"):
        pytest.fail("the body ran")
    assert labels("calls", "busy") == labels("calls", "waiting") == []


def test_closing_lets_those_who_wait_leave_the_queue(declare: Callable[..., Any]) -> None:
    """Q7: at once, not only when the process has been gone for a while."""
    declare(calls=(1, 60_000))
    [held] = fill("calls")
    client = Client()
    waiting = [InThread(lambda: client.acquire("calls")) for _ in range(5)]
    eventually(lambda: len(labels("calls", "waiting")) == 5)
    client.close()
    assert labels("calls", "waiting") == []
    for one in waiting:
        with pytest.raises(ClosedError):
            one.outcome()
    assert queries.slot(held).state == "busy"  # type: ignore[union-attr]
    with pytest.raises(ClosedError):
        client.acquire("calls")


def test_a_body_that_outlives_its_client_gives_its_slot_back(declare: Callable[..., Any]) -> None:
    """F1: the program closes the client at its end, while another thread still works."""
    declare(calls=(1, 60_000))
    client = Client()
    with client.slot("calls"):
        client.close()
    assert labels("calls", "busy") == []
    client.close()


def test_a_box_that_is_not_there_is_a_clear_error(box: Any) -> None:
    """A client of nothing says so, and does not wait for long."""
    begun = time.monotonic()
    with Client("postgresql:///nothing?host=/nonexistent") as client, pytest.raises(BoxUnreachableError):
        client.acquire("calls")
    assert time.monotonic() - begun < 20


def test_without_an_address_there_is_no_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names the variable to set, and the folder where no box runs."""
    monkeypatch.delenv("STACKBONE_DATABASE_URL")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BoxUnreachableError, match=rf"STACKBONE_DATABASE_URL.* in {re.escape(str(tmp_path))}"):
        Client()


def test_a_script_beside_a_running_dev_finds_its_box(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, declare: Callable[..., Any], box: pool.Database
) -> None:
    """As the shell's commands do: from the workspace's folder, or from anywhere with STACKBONE_WORKSPACE."""
    declare(calls=(2, 60_000))
    monkeypatch.delenv("STACKBONE_DATABASE_URL")
    monkeypatch.delenv("DATABASE_URL", raising=False)
    (tmp_path / ".stackbone").mkdir()
    (tmp_path / ".stackbone" / "box.json").write_text(json.dumps({"url": box.url}))
    monkeypatch.setenv("STACKBONE_WORKSPACE", str(tmp_path))
    with Client() as client:
        assert client.acquire("calls").limit == "calls"
    monkeypatch.delenv("STACKBONE_WORKSPACE")
    monkeypatch.chdir(tmp_path)
    with Client() as client:
        assert client.acquire("calls").limit == "calls"


def test_a_limit_no_longer_declared_takes_nobody_new(client: Client, declare: Callable[..., Any]) -> None:
    """D8: who holds may still release."""
    declare(calls=(1, 60_000))
    slot = client.acquire("calls")
    declare(others=(1, 60_000))
    with pytest.raises(UnknownLimitError, match="no longer"):
        client.acquire("calls")
    assert slot.release().released


def test_an_operator_may_release_what_a_client_holds(client: Client, declare: Callable[..., Any]) -> None:
    """F2: the end of `with` is then no error."""
    declare(calls=(1, 60_000))
    with client.slot("calls") as slot:
        assert engine.release(slot.id, actor=ACTOR).released
