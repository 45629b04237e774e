"""What stands around every page: headers, who may come in, error pages, the theme. No database is asked."""

import logging
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.urls import clear_url_caches

PAGE = "/page/"


@pytest.fixture(autouse=True)
def pages(settings: Any) -> Iterator[None]:
    settings.ROOT_URLCONF = "tests.studio.frame_pages"
    yield
    clear_url_caches()


@pytest.fixture
def visitor() -> Client:
    return Client(enforce_csrf_checks=True, raise_request_exception=False, headers={"host": "127.0.0.1:8000"})


def token(visitor: Client) -> str:
    class Form(HTMLParser):
        found = ""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            values = dict(attrs)
            if values.get("name") == "csrfmiddlewaretoken":
                self.found = values["value"] or ""

    form = Form()
    form.feed(visitor.get(PAGE).content.decode())
    return form.found


def test_every_answer_carries_the_strict_policy_and_its_companions(visitor: Client) -> None:
    """S6: nothing inline, nothing from elsewhere, framed by nobody."""
    for path in (PAGE, "/nowhere/", "/fault/away/", "/static/css/tokens.css", "/healthz"):
        headers = visitor.get(path).headers
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "font-src": "'self'",
            "connect-src": "'self'",
            "form-action": "'self'",
            "img-src": "'self' data:",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
            "object-src": "'none'",
        }
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_a_page_may_be_kept_for_back_alone_and_an_error_not_at_all(visitor: Client) -> None:
    """S5: no shared cache ever holds a number; Back asks first."""
    assert visitor.get(PAGE)["Cache-Control"] == "private, no-cache"
    assert visitor.get("/fault/away/")["Cache-Control"] == "no-store"
    assert visitor.get("/nowhere/")["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.7:8000", "localhost.evil", "a b", ""]
)
@pytest.mark.parametrize("path", [PAGE, "/static/css/tokens.css", "/healthz"])
def test_a_foreign_host_name_is_refused_whatever_it_asks_for(host: str, path: str) -> None:
    """S7: a site whose name was made to point at this machine (DNS rebinding) gets nothing."""
    answer = Client(headers={"host": host}).get(path)
    assert answer.status_code == 400
    assert "not served under this address" in answer.content.decode()
    assert not answer.cookies


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost:9", "[::1]:8000"])
def test_the_machines_own_names_are_let_in(host: str) -> None:
    """S7: until accounts exist Studio serves the person at the machine."""
    assert Client(headers={"host": host}).get(PAGE).status_code == 200


@pytest.mark.parametrize(("peer", "status"), [("192.0.2.7", 400), ("::ffff:192.0.2.7", 400), ("nonsense", 400),
                                              ("127.0.0.1", 200), ("::1", 200), ("::ffff:127.0.0.1", 200), ("", 200)])  # fmt: skip
def test_a_peer_from_another_machine_is_refused_even_under_the_right_name(peer: str, status: int) -> None:
    """S7: a server bound too widely by mistake still serves nobody else."""
    assert Client(headers={"host": "localhost"}, REMOTE_ADDR=peer).get(PAGE).status_code == status


def test_an_unknown_limit_leads_to_those_of_near_names(visitor: Client) -> None:
    """A4: near matches are named."""
    answer = visitor.get("/fault/unknown/")
    said = answer.content.decode()
    assert answer.status_code == 404
    assert "No limit called “<bdi>voice-cals</bdi>”" in said
    assert '<a href="/limits/voice-calls/">voice-calls</a> or <a href="/limits/voice-mail/">' in said


def test_a_limit_no_longer_declared_is_gone_and_not_unknown(visitor: Client) -> None:
    """D8: the page says which of the two it is."""
    answer = visitor.get("/fault/undeclared/")
    assert answer.status_code == 410
    assert "is no longer declared" in answer.content.decode()


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/fault/away/", 503, "Studio cannot reach the box"),
        ("/fault/empty/", 503, "stackbone migrate"),
        ("/fault/gone/", 404, "That slot was never handed out"),
        ("/nowhere/", 404, "There is no such page"),
        ("/act/", 405, "It answers to POST, not to GET"),
    ],
)
def test_what_goes_wrong_is_told_on_a_whole_page(visitor: Client, path: str, status: int, sentence: str) -> None:
    """S6: an error is a page with a way back, never a bare line or a traceback."""
    answer = visitor.get(path)
    said = answer.content.decode()
    assert answer.status_code == status
    assert sentence in said
    assert said.count("<h1>") == 1
    assert "</footer>" in said
    assert "Traceback" not in said


def test_a_fault_in_studio_shows_a_reference_and_logs_the_rest_under_it(
    visitor: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """S6: the page gives the operator what finds the traceback, and nothing else."""
    answer = visitor.get("/fault/fault/")
    said = answer.content.decode()
    assert answer.status_code == 500
    assert "The box keeps running" in said
    assert "a detail for the log alone" not in said
    logged = next(record for record in caplog.records if record.name == "studio.errors")
    reference = logged.getMessage().split()[1].rstrip(":")
    assert reference in said
    assert logged.exc_info is not None
    assert "a detail for the log alone" in str(logged.exc_info[1])


def test_reading_leaves_no_line_in_the_log_and_acting_leaves_one(
    visitor: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """O7: the log follows what was done, without the noise of looking."""
    caplog.set_level(logging.INFO)
    visitor.get(PAGE)
    visitor.get("/static/css/tokens.css")
    assert caplog.messages == []
    visitor.post("/theme/", {"csrfmiddlewaretoken": token(visitor), "theme": "dark", "next": PAGE})
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("POST '/theme/' 303")


def test_a_form_from_elsewhere_is_refused_with_the_way_out(visitor: Client) -> None:
    """S7: without the page's token nothing is done."""
    answer = visitor.post("/act/", {})
    assert answer.status_code == 403
    assert "reload the page and try again" in answer.content.decode()


def test_the_theme_is_kept_in_a_cookie_and_set_by_the_server(visitor: Client) -> None:
    """S6: the switch works without JavaScript, and no page flashes in the wrong theme."""
    assert 'class="theme-system"' in visitor.get(PAGE).content.decode()
    answer = visitor.post("/theme/", {"csrfmiddlewaretoken": token(visitor), "theme": "dark", "next": PAGE})
    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    cookie = answer.cookies["stackbone_theme"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert 'class="theme-dark"' in visitor.get(PAGE).content.decode()


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_the_theme_switch_leads_nowhere_else(visitor: Client, elsewhere: str) -> None:
    """S7: the address to return to is a path of this Studio."""
    answer = visitor.post("/theme/", {"csrfmiddlewaretoken": token(visitor), "theme": "odd", "next": elsewhere})
    assert answer["Location"] == "/limits/"
    assert answer.cookies["stackbone_theme"].value == "system"


def test_an_odd_theme_cookie_counts_as_none(visitor: Client) -> None:
    """S7: what a cookie holds is never written into the page."""
    visitor.cookies["stackbone_theme"] = 'dark" onload="alert(1)'
    assert 'class="theme-system"' in visitor.get(PAGE).content.decode()


def test_cookies_are_out_of_reach_for_scripts_and_other_sites(visitor: Client) -> None:
    """S7: HttpOnly and SameSite on all of them."""
    cookie = visitor.get(PAGE).cookies["stackbone_csrf"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_looking_in_other_ways_than_get_changes_nothing(visitor: Client) -> None:
    """S6: HEAD answers like GET without a body, OPTIONS acts on nothing."""
    head = visitor.head(PAGE)
    assert (head.status_code, head.content) == (200, b"")
    assert visitor.options("/act/").status_code == 405
    assert visitor.options("/act/")["Allow"] == "POST"


def test_a_second_look_at_a_stylesheet_sends_nothing(visitor: Client) -> None:
    """S1: static files are served whole once and confirmed after that."""
    first = visitor.get("/static/css/tokens.css")
    assert first["Content-Type"].startswith("text/css")
    again = visitor.get("/static/css/tokens.css", headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
