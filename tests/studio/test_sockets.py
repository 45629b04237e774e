"""Who may open a socket, and what a socket says to what makes no sense."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from limits import engine, pool, queries
from studio.feed import mark
from studio.live import ScreenSocket
from tests import studio_process

type Declare = Callable[..., object]


@pytest.fixture(scope="module")
def served(migrated: str) -> Iterator[str]:
    """Run Studio in a process of its own; lend its address."""
    with studio_process.running(migrated) as address:
        yield address


@pytest.fixture
def address(served: str, box: pool.Database) -> str:
    """Lend the address of a Studio on an empty box."""
    return served


def opened(address: str, query: str = "?list=&lang=en", **values: Any) -> ClientConnection:
    """Open a socket as a page of that Studio does."""
    given = {"origin": address, "open_timeout": 10, "close_timeout": 1} | values
    return connect(address.replace("http", "ws", 1) + "/ws/studio/" + query, **given)


def read(socket: ClientConnection) -> dict[str, Any]:
    """Return the next message."""
    message: dict[str, Any] = json.loads(socket.recv(timeout=10))
    return message


def code(socket: ClientConnection) -> int | None:
    """Read to the end and return the code that closed the socket."""
    try:
        while True:
            socket.recv(timeout=10)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


def test_a_screen_is_told_the_changes_of_what_it_shows(address: str, declare: Declare) -> None:
    """S2, case 78: drawn for its rows, and merely named for the rest."""
    declare(a=(1, 60_000), b=(1, 60_000))
    with opened(address) as socket:
        hello = read(socket)
        assert (hello["type"], hello["fresh"]) == ("hello", False)
        socket.send(json.dumps({"show": ["a"]}))
        engine.request("a", key="1")
        changed = read(socket)
        while not changed["limits"]:
            changed = read(socket)
        assert changed["type"] == "changed"
        assert changed["limits"] == ["a"]
        assert [piece["id"] for piece in changed["pieces"]] == ["summary", "limit-a"]
        assert changed["counts"]["full"] == 1
        engine.request("b", key="2")
        changed = read(socket)
        assert (changed["limits"], changed["elsewhere"]) == ([], True)
        assert [piece["id"] for piece in changed["pieces"]] == ["summary"]


def test_what_was_drawn_from_the_present_state_is_fresh(address: str, declare: Declare) -> None:
    """S3: a page that has just been drawn need not ask again."""
    declare(a=(1, 60_000))
    with opened(address, "?limit=a&lang=en") as socket:
        assert not read(socket)["fresh"]
    query = f"?limit=a&lang=en&mark={mark(queries.revisions()[1].items())}"
    with opened(address, query) as socket:
        assert read(socket)["fresh"]
    engine.request("a", key="1")
    with opened(address, query) as socket:
        assert not read(socket)["fresh"]


@pytest.mark.parametrize(
    "origin",
    ["https://evil.test", "null", None, "http://127.0.0.1.evil.test", "http://127.0.0.1:1", "http://localhost"],
)
def test_a_page_from_elsewhere_gets_no_socket(address: str, declare: Declare, origin: Any) -> None:
    """S7, case 86: refused before anything is said; another port is another site."""
    declare(a=(1, 60_000))
    with pytest.raises(InvalidStatus) as refused:
        opened(address, origin=origin)
    assert refused.value.response.status_code == 403
    assert not refused.value.response.body


@pytest.mark.parametrize("query", ["?limit=A", "?limit=", "?limit=a%00", "?" + "limit=a&" * 201])
def test_an_address_that_makes_no_sense_is_closed_with_its_code(address: str, query: str) -> None:
    """S3: a browser sees the code only of a socket that was open."""
    with opened(address, query) as socket:
        assert code(socket) == 4400


@pytest.mark.parametrize(
    "message",
    ["", "{", "[]", "{}", '{"show": "a"}', '{"show": [1]}', '{"show": ["A"]}', json.dumps({"show": ["a"] * 201}), b"x"],
)
def test_a_message_that_makes_no_sense_closes_the_socket(address: str, declare: Declare, message: str | bytes) -> None:
    """S3: refused, and nothing else is disturbed."""
    declare(a=(1, 60_000))
    with opened(address) as other, opened(address) as socket:
        read(other), read(socket)
        socket.send(message)
        assert code(socket) == 4400
        other.send(json.dumps({"show": ["a"]}))
        engine.request("a", key="1")
        while read(other)["type"] != "changed":
            pass


def test_a_socket_that_no_page_opens_is_closed(address: str) -> None:
    """S3: accepted first, so that the code can be read."""
    with connect(address.replace("http", "ws", 1) + "/ws/other/", origin=address) as socket:  # type: ignore[arg-type]
        assert code(socket) == 4404


def test_every_studio_learns_of_every_change(migrated: str, box: pool.Database, declare: Declare) -> None:
    """S2, case 78: two Studios side by side share nothing but the box."""
    declare(a=(2, 60_000))
    with (
        studio_process.running(migrated) as one,
        studio_process.running(migrated) as other,
        opened(one, "?limit=a&lang=en") as first,
        opened(other, "?limit=a&lang=en") as second,
    ):
        read(first), read(second)
        engine.request("a", key="1")
        for socket in (first, second):
            changed = read(socket)
            assert [piece["id"] for piece in changed["pieces"]] == ["head"]
            assert "<b>1</b>" in changed["pieces"][0]["html"]


def test_a_limits_screen_is_drawn_in_its_language_or_in_english(address: str, declare: Declare) -> None:
    """S6: an odd language is no error."""
    declare(a=(1, 60_000))
    with opened(address, "?limit=a&lang=xx") as socket:
        read(socket)
        engine.request("a", key="1")
        assert "Busy" in read(socket)["pieces"][0]["html"]


@pytest.mark.parametrize("unheard", ["hello", "changed"])
def test_a_screen_that_goes_while_it_is_told_something_is_forgotten(
    box: pool.Database, declare: Declare, unheard: str
) -> None:
    """S2: to send to one that has just gone is an error in daphne; nobody asks the box for a screen that is gone."""
    declare(a=(1, 60_000))

    async def visit() -> None:
        told: list[str] = []
        gone = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if not told:
                return {"type": "websocket.connect"}
            await asyncio.to_thread(engine.request, "a", key="1")
            await gone.wait()
            return {"type": "websocket.disconnect", "code": 1006}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] != "websocket.send":
                return
            told.append(json.loads(message["text"])["type"])
            if told[-1] == unheard:
                gone.set()
                raise ConnectionError("Attempt to send on a closed protocol")

        scope = {"type": "websocket", "path": "/ws/studio/", "query_string": b"limit=a&lang=en", "headers": []}
        with suppress(ConnectionError):
            await asyncio.wait_for(ScreenSocket.as_asgi()(scope, receive, send), 10)
        assert told[-1] == unheard
        # Nobody looks, and nobody pushes, any more.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            _, going_on = await asyncio.wait(left, timeout=5)
            assert not going_on

    # In a thread of its own: the browser's driver leaves an event loop running in that of the tests.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, visit()).result()


def test_an_idle_socket_gets_a_sign_of_life(address: str, declare: Declare) -> None:
    """S3, case 80: a proxy that ends idle connections after a minute never finds one; ticks count the news along."""
    declare(a=(1, 60_000))
    with opened(address, "?limit=a&lang=en") as socket:
        read(socket)
        engine.request("a", key="1")
        assert read(socket)["n"] == 1
        tick = json.loads(socket.recv(timeout=12))
        assert (tick["type"], tick["n"]) == ("tick", 1)
