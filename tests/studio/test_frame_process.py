"""Studio as it really runs: daphne, a real box, a socket on the loopback."""

import http.client
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from limits import pool
from limits.engine import Synced
from tests import studio_process

ROOT = Path(__file__).parents[2]


@pytest.fixture
def studio(box: pool.Database) -> Iterator[str]:
    with studio_process.running(box.url) as address:
        yield address


def get(address: str, path: str, **headers: str) -> tuple[int, str, http.client.HTTPMessage]:
    # Not urllib: the path goes out as it stands, and so does the Host header.
    place = urlsplit(address)
    assert place.hostname
    with closing(http.client.HTTPConnection(place.hostname, place.port, timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("latin-1"), answer.headers


def test_a_fresh_checkout_serves_pages_and_their_files_without_any_build_step(
    studio: str, declare: Callable[..., Synced]
) -> None:
    """S6: every stylesheet and font that a page links is there."""
    declare(calls=(3, 60_000))
    status, page, headers = get(studio, "/limits/")
    assert (status, headers["Cache-Control"]) == (200, "private, no-cache")
    linked = [part.split('"')[0] for part in page.split('href="')[1:] if part.startswith("/static/")]
    assert len(linked) >= 7
    for path in linked:
        status, content, _ = get(studio, path)
        assert status == 200
        assert content


def test_alive_and_ready_are_told_apart(studio: str) -> None:
    """The box answers: both say so."""
    assert get(studio, "/healthz")[:2] == (200, "alive\n")
    assert get(studio, "/readyz")[:2] == (200, "ready\n")


def test_without_a_database_studio_lives_but_is_not_ready() -> None:
    """S6: a box that is away is a page, and a plain 503 for programs."""
    with studio_process.running("postgresql://nobody@127.0.0.1:1/none") as address:
        assert get(address, "/healthz")[0] == 200
        status, said, _ = get(address, "/readyz")
        assert status == 503
        assert "does not answer" in said
        status, page, headers = get(address, "/limits/")
        assert status == 503
        assert headers["Retry-After"] == "15"
        assert "Studio cannot reach the box" in page


def test_a_foreign_name_is_refused_over_the_wire_too(studio: str) -> None:
    """S7: DNS rebinding ends at the Host header, for pages and sockets alike."""
    port = urlsplit(studio).port
    for path in ("/limits/", "/static/css/tokens.css"):
        assert get(studio, path, Host=f"evil.example:{port}")[0] == 400
    socket = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    assert get(studio, "/ws/studio/", **socket, Origin="http://evil.example")[0] == 403
    assert (
        get(studio, "/ws/studio/", **socket, Host=f"evil.example:{port}", Origin=f"http://evil.example:{port}")[0]
        == 403
    )


def test_names_of_dots_alone_reach_their_page(studio: str, declare: Callable[..., Synced]) -> None:
    """D1: every legal limit name works in an address."""
    declare(**{".": (1, 60_000), "..": (1, 60_000), "edit": (1, 60_000)})
    for path in ("/limits/~./", "/limits/~../", "/limits/edit/", "/limits/~../edit/"):
        assert get(studio, path)[0] == 200
    status, page, _ = get(studio, "/limits/Edit/")
    assert status == 404
    assert 'href="/limits/edit/"' in page


def test_faulty_settings_stop_the_start_and_name_the_variable() -> None:
    """S7: a host from elsewhere is refused before the first request."""
    ended = subprocess.run(
        [sys.executable, "-c", "import django; django.setup()"],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "studio.settings", "STACKBONE_ALLOWED_HOSTS": "studio.example.com"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert "STACKBONE_ALLOWED_HOSTS: must be loopback names until Studio has accounts" in ended.stderr
