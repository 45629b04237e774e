"""Pause and resume."""

from collections.abc import Callable

from django.test import Client

from limits import engine, queries, rules
from limits.engine import Actor
from tests.studio.conftest import Ask
from tests.studio.read import followed, text

ANA = Actor(name="ana@example.com", source="cli")
M = rules.MINUTE

type Declare = Callable[..., object]


def calls() -> queries.LimitState:
    state = queries.limit("calls")
    assert state is not None
    return state


def test_a_pause_is_asked_about_with_what_it_does(studio: Client, declare: Declare, ask: Ask) -> None:
    """O6: no new grants, the queue stays, timeouts run on."""
    declare(calls=(1, 45 * M))
    ask("calls")
    ask("calls")
    said = text(studio.get("/limits/calls/pause/"))
    assert "Pause calls? No slot is handed out until somebody resumes it. 1 busy slot finishes" in said
    assert "1 waiting run keeps its place, but the timeouts run on." in said
    assert not calls().paused


def test_a_pause_shows_who_when_and_why(studio: Client, declare: Declare) -> None:
    """O6, O7: who, when, why."""
    declare(calls=(1, 45 * M))
    said = followed(studio.post("/limits/calls/pause/", {"reason": "provider outage"}), studio)
    assert "calls is paused. No slot is handed out until it is resumed." in said
    assert ": provider outage. No slot is handed out." in said
    pause = calls().pause
    assert pause is not None
    assert pause.reason == "provider outage"
    assert "@" in pause.by
    change = queries.changes(limit="calls").items[0]
    assert (change.kind, change.source, change.reason) == ("pause", "studio", "provider outage")


def test_a_second_pause_changes_nothing_and_says_so(studio: Client, declare: Declare) -> None:
    """O6: the first one's who and why stay."""
    declare(calls=(1, 45 * M))
    engine.pause("calls", actor=ANA, reason="first")
    assert "calls is paused already Paused by ana@example.com at" in text(studio.get("/limits/calls/pause/"))
    assert "Nothing changed. calls was paused already." in followed(studio.post("/limits/calls/pause/"), studio)
    pause = calls().pause
    assert pause is not None
    assert (pause.by, pause.reason) == ("ana@example.com", "first")


def test_a_resume_says_what_it_starts_and_starts_it(studio: Client, declare: Declare, ask: Ask) -> None:
    """O6, F4: resume grants at once."""
    declare(calls=(2, 45 * M))
    engine.pause("calls", actor=ANA, reason="outage")
    for _ in range(3):
        ask("calls")
    said = text(studio.get("/limits/calls/resume/"))
    assert "Paused by ana@example.com at" in said
    assert "Starts 2 of 3 waiting runs at once." in said
    assert calls().paused
    assert "calls hands out slots again. 2 runs started." in followed(studio.post("/limits/calls/resume/"), studio)
    assert (calls().paused, calls().reserved, calls().waiting) == (False, 2, 1)


def test_a_resume_of_a_limit_that_is_not_paused_changes_nothing(studio: Client, declare: Declare) -> None:
    """O6: and says so."""
    declare(calls=(2, 45 * M))
    assert "calls is not paused" in text(studio.get("/limits/calls/resume/"))
    assert "Nothing changed. calls was not paused." in followed(studio.post("/limits/calls/resume/"), studio)


def test_a_reason_that_cannot_be_kept_pauses_nothing(studio: Client, declare: Declare) -> None:
    """O7: bad input changes nothing."""
    declare(calls=(2, 45 * M))
    page = studio.post("/limits/calls/pause/", {"reason": "x" * 501})
    assert page.status_code == 422
    assert "The reason must have" in text(page)
    assert not calls().paused


def test_a_paused_limit_that_left_the_config_can_be_resumed(studio: Client, declare: Declare, ask: Ask) -> None:
    """D8: waiting runs are still served, so somebody must be able to resume."""
    declare(calls=(1, 45 * M), other=(1, M))
    engine.pause("calls", actor=ANA)
    ask("calls")
    declare(other=(1, M))
    page = text(studio.get("/limits/calls/"))
    assert "Resume…" in page
    assert "Pause…" not in page
    assert studio.get("/limits/calls/pause/").status_code == 410
    assert "1 run started." in followed(studio.post("/limits/calls/resume/"), studio)


def test_an_unknown_limit_cannot_be_paused(studio: Client, declare: Declare) -> None:
    """A4: 404 with near names."""
    declare(calls=(1, M))
    for word in ("pause", "resume", "edit", "reset/capacity"):
        page = studio.post(f"/limits/cals/{word}/")
        assert page.status_code == 404
        assert "Did you mean calls?" in text(page)
