"""Undo: a change that was just saved is taken back, by nobody else's hand and for a minute alone."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core import signing
from django.test import Client

from limits import engine, queries, rules
from limits.engine import Actor
from limits.queries.values import Change
from tests.studio.editing import calls, save
from tests.studio.read import followed, text

BEN = Actor(name="ben@example.com", source="cli")
M = rules.MINUTE
PATH = "/limits/calls/undo/"

type Declare = Callable[..., object]


def offered(studio: Client, page: Any) -> str:
    """Follow a save to its page, and return the token of the Undo there."""
    shown = studio.get(page["Location"]).content.decode()
    found = re.search(rf'<form method="post" action="{PATH}".*?name="token" value="([^"]+)"', shown)
    assert found is not None
    return html.unescape(found[1])


def pressed(studio: Client, token: str) -> str:
    return followed(studio.post(PATH, {"token": token}), studio)


def recorded() -> list[Change]:
    return queries.changes(limit="calls").items


def test_an_override_is_taken_back_to_the_declared_value(studio: Client, declare: Declare) -> None:
    """S4, O7: a reset of its own on record, with its reason."""
    declare(calls=(20, 45 * M))
    token = offered(studio, save(studio, capacity="30", max_hold="2h"))
    said = pressed(studio, token)
    assert "Capacity is 20 again, as declared. Max hold is 45m again, as declared." in said
    assert not calls().overridden
    assert [(change.kind, change.reason) for change in recorded()[:2]] == [
        ("reset_max_hold", "undo"),
        ("reset_capacity", "undo"),
    ]


def test_an_override_is_taken_back_to_the_override_before_it(studio: Client, declare: Declare) -> None:
    """S4: the state before, not the declared one; a capacity that rises grants at once (F4)."""
    declare(calls=(1, 45 * M))
    engine.edit("calls", actor=BEN, capacity=3)
    token = offered(studio, save(studio, capacity="2"))
    for n in range(3):
        engine.request("calls", key=f"k{n}")
    assert "Capacity is 3 again. 1 run started." in pressed(studio, token)
    assert calls().capacity.override == 3


def test_a_reset_is_taken_back_too(studio: Client, declare: Declare) -> None:
    """S4: the override is back."""
    declare(calls=(20, 45 * M))
    engine.edit("calls", actor=BEN, capacity=30)
    done = studio.post("/limits/calls/reset/capacity/", {"expected": "30", "confirmed": "20"})
    assert "Capacity is 30 again." in pressed(studio, offered(studio, done))
    assert calls().capacity.override == 30


def test_what_somebody_else_changed_since_stays(studio: Client, declare: Declare) -> None:
    """O7: per field; the other one is still taken back."""
    declare(calls=(20, 45 * M))
    token = offered(studio, save(studio, capacity="30", max_hold="2h"))
    engine.edit("calls", actor=BEN, capacity=25)
    said = pressed(studio, token)
    assert "Not undone: the capacity changed since, it is 25 now." in said
    assert "Max hold is 45m again, as declared." in said
    assert (calls().capacity.override, calls().max_hold.override) == (25, None)


def test_pressed_twice_it_acts_once(studio: Client, declare: Declare) -> None:
    """S4, case 73: the second press finds it done."""
    declare(calls=(20, 45 * M))
    token = offered(studio, save(studio, capacity="30"))
    first = pressed(studio, token)
    before = recorded()
    assert pressed(studio, token) == first
    assert recorded() == before


def test_after_a_minute_it_is_too_late(studio: Client, declare: Declare, monkeypatch: pytest.MonkeyPatch) -> None:
    """S4: the offer carries its time, which nobody can change."""
    declare(calls=(20, 45 * M))
    token = offered(studio, save(studio, capacity="30"))
    now = signing.time.time()
    monkeypatch.setattr("django.core.signing.time.time", lambda: now + 61)
    assert "Not undone: that is possible for 60 seconds after the change only." in pressed(studio, token)
    assert calls().capacity.override == 30


@pytest.mark.parametrize(("start", "end"), [(1, None), (0, -1), (0, 0)], ids=["start", "end", "empty"])
def test_a_forged_offer_is_none(studio: Client, declare: Declare, start: int, end: int | None) -> None:
    """S7: nothing changes."""
    declare(calls=(20, 45 * M))
    token = offered(studio, save(studio, capacity="30"))
    assert "Not undone" in pressed(studio, token[start:end])
    assert calls().capacity.override == 30


def test_an_offer_for_another_limit_is_none(studio: Client, declare: Declare) -> None:
    """S7: a token holds for the limit it was made for."""
    declare(calls=(20, 45 * M), other=(20, 45 * M))
    engine.edit("other", actor=BEN, capacity=30)
    token = offered(studio, save(studio, capacity="30"))
    page = studio.post("/limits/other/undo/", {"token": token})
    assert "Not undone" in text(studio.get(page["Location"]))
    other = queries.limit("other")
    assert other is not None
    assert other.capacity.override == 30


def test_looking_at_the_address_undoes_nothing(studio: Client, declare: Declare) -> None:
    """Case 87: POST alone acts."""
    declare(calls=(20, 45 * M))
    token = offered(studio, save(studio, capacity="30"))
    assert studio.get(PATH, {"token": token}).status_code == 405
    assert calls().capacity.override == 30


def test_a_script_gets_the_outcome_alone_and_it_is_kept_nowhere(studio: Client, declare: Declare) -> None:
    """S6, case 68: no page is fetched for it, and the message is not shown a second time."""
    declare(calls=(20, 45 * M))
    token = offered(studio, save(studio, capacity="30"))
    done = studio.post(PATH, {"token": token}, headers={"HX-Request": "true"})
    assert (done.status_code, done["Studio-Done"], done["Cache-Control"]) == (200, "success", "no-store")
    assert text(done) == "Capacity is 20 again, as declared."
    assert "again, as declared" not in text(studio.get("/limits/calls/"))
