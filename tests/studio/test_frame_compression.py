"""Pages and static files travel compressed, and arrive as they were. No database is asked."""

import gzip
from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import clear_url_caches

SHEET = "/static/css/tokens.css"


@pytest.fixture(autouse=True)
def pages(settings: Any) -> Iterator[None]:
    settings.ROOT_URLCONF = "tests.studio.frame_pages"
    yield
    clear_url_caches()


@pytest.fixture
def visitor() -> Client:
    return Client(headers={"host": "127.0.0.1:8000"})


def get(visitor: Client, path: str, **headers: str) -> HttpResponse:
    return visitor.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("accepted", ["gzip", "deflate, gzip;q=1.0, br", "gzip, deflate, br, zstd"])
@pytest.mark.parametrize("path", ["/page/", SHEET, "/static/vendor/htmx-4.0.1.min.js", "/nowhere/"])
def test_a_browser_that_takes_it_gets_less(visitor: Client, path: str, accepted: str) -> None:
    """S1: pages, errors, stylesheets and scripts are compressed, and caches are told what that hangs on."""
    plain = get(visitor, path)
    small = get(visitor, path, accept_encoding=accepted)
    assert small["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in small["Vary"]
    assert "Accept-Encoding" in plain["Vary"]
    assert int(small["Content-Length"]) == len(small.content) < len(plain.content) / 2
    whole = gzip.decompress(small.content)
    if path.startswith("/static/"):
        assert whole == plain.content
    else:
        assert whole.endswith(b"</html>\n")


@pytest.mark.parametrize("accepted", ["", "identity", "br", "deflate"])
@pytest.mark.parametrize("path", ["/page/", SHEET])
def test_a_program_that_takes_no_gzip_gets_the_plain_answer(visitor: Client, path: str, accepted: str) -> None:
    """S6: whoever reads a page without a browser reads it too."""
    answer = get(visitor, path, accept_encoding=accepted)
    assert "Content-Encoding" not in answer
    assert answer.content.decode()


def test_a_font_is_compressed_already(visitor: Client) -> None:
    """S1: what would grow is sent as it is."""
    path = "/static/fonts/b612-latin-400-normal.woff2"
    answer = get(visitor, path, accept_encoding="gzip")
    assert answer.content[:4] == b"wOF2" or gzip.decompress(answer.content)[:4] == b"wOF2"
    assert len(answer.content) <= len(get(visitor, path).content)


def test_a_compressed_file_is_known_again(visitor: Client) -> None:
    """S1: the tag of a compressed answer is weak, as it names more than one form, and brings a 304 all the same."""
    first = get(visitor, SHEET, accept_encoding="gzip")
    assert first["ETag"].startswith('W/"')
    again = get(visitor, SHEET, accept_encoding="gzip", if_none_match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    changed = get(visitor, SHEET, accept_encoding="gzip", if_none_match='W/"0-0"')
    assert changed.status_code == 200


def test_a_part_of_a_file_is_sent_as_it_lies(visitor: Client) -> None:
    """S1: a range counts the bytes of the file, not those of a compressed one."""
    whole = get(visitor, SHEET).content
    part = get(visitor, SHEET, accept_encoding="gzip", range="bytes=0-999")
    assert part.status_code == 206
    assert "Content-Encoding" not in part
    assert part.content == whole[:1_000]


def test_a_stream_is_compressed_as_it_flows(visitor: Client) -> None:
    """S1: no length is promised for what is not made yet."""
    answer = visitor.get("/lines/", headers={"accept-encoding": "gzip"})
    assert answer["Content-Encoding"] == "gzip"
    assert "Content-Length" not in answer
    sent = b"".join(answer.streaming_content)
    assert gzip.decompress(sent).count(b"\n") == 1_000


def test_the_length_of_a_page_tells_nothing_of_its_secret(visitor: Client) -> None:
    """S7: the token is masked anew in each page, and the length varies at random besides (BREACH)."""
    visitor.get("/page/")
    answers = [get(visitor, "/page/", accept_encoding="gzip") for _ in range(20)]
    assert len({gzip.decompress(answer.content) for answer in answers}) == 20
    assert len({len(answer.content) for answer in answers}) > 1
