"""Release a slot: a page that names it, a POST that acts on it and on no other."""

import html
import re
import uuid
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from limits import engine, queries, rules
from limits.engine import Actor
from limits.errors import BoxUnreachableError
from studio.wording import unseen
from tests.conftest import Clock
from tests.studio.conftest import Ask
from tests.studio.read import followed, text

BEN = Actor(name="ben@example.com", source="cli")
M = rules.MINUTE

type Declare = Callable[..., object]


def path(slot: queries.SlotRow, limit: str = "calls") -> str:
    return f"/limits/{limit}/slots/{slot.id}/release/"


def state(slot: queries.SlotRow) -> str:
    found = queries.slot(slot.id)
    assert found is not None
    return found.state


def key(page: Any) -> dict[str, str]:
    found = re.search(r'name="key" value="([0-9a-f]{32})"', page.content.decode())
    assert found is not None
    return {"key": found[1]}


def test_the_page_names_the_slot_and_says_who_gets_it(studio: Client, declare: Declare, clock: Clock, ask: Ask) -> None:
    """S3: a confirmation that names it; reading it changes nothing."""
    declare(calls=(1, 45 * M))
    slot = ask("calls", "call-1", run="run_1")
    ask("calls", "call-2", run="run_2")
    clock.advance(38 * M)
    said = text(studio.get(path(slot)))
    assert "Release this slot?" in said
    assert f"Limit calls Run run_1 (place-call) Label call-1 Slot {slot.id} Held 38m 0" in said
    assert " of 45m Comes back by itself at " in said
    assert "Next in line run_2, waited 38m 0" in said
    assert "It gets the slot at once." in said
    assert "you will have more than 1 at once" in said
    assert state(slot) == "busy"


def test_a_release_frees_the_slot_grants_it_and_says_both(studio: Client, declare: Declare, ask: Ask) -> None:
    """F2, F6: an operator frees it, the next has it in the same transaction; O7: recorded with the reason."""
    declare(calls=(1, 45 * M))
    slot, waiting = ask("calls", "call-1", run="run_1"), ask("calls", "call-2", run="run_2")
    done = studio.post(path(slot), {"reason": "provider lost the hang-up"})
    assert "Released call-1. run_2 gets the slot." in followed(done, studio)
    assert (state(slot), state(waiting)) == ("released", "reserved")
    change = queries.changes(limit="calls").items[0]
    assert (change.kind, change.slot_id, change.label) == ("release", slot.id, "call-1")
    assert (change.source, change.reason) == ("studio", "provider lost the hang-up")


def test_the_message_names_nobody_who_left_the_queue_at_the_last_moment(
    studio: Client, declare: Declare, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3: between the look at the queue and the release its head gives up; the slot goes to the next."""
    declare(calls=(1, 45 * M))
    slot, first, second = (ask("calls", f"call-{n}", run=f"run_{n}") for n in (1, 2, 3))
    head = queries.head

    def overtaken(limit: str) -> queries.SlotRow | None:
        found = head(limit)
        engine.withdraw(first.id, actor=BEN)
        return found

    monkeypatch.setattr(queries, "head", overtaken)
    assert "Released call-1. The next run gets the slot." in followed(studio.post(path(slot)), studio)
    assert state(second) == "reserved"


def test_a_release_with_nobody_waiting_says_only_what_was_released(studio: Client, declare: Declare, ask: Ask) -> None:
    """S3: the message says what happened."""
    declare(calls=(1, 45 * M))
    said = followed(studio.post(path(ask("calls", "call-1"))), studio)
    assert "Released call-1." in said
    assert "gets the slot" not in said


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda: engine.pause("calls", actor=BEN), "Nobody gets it: the limit is paused."),
        (lambda: engine.edit("calls", actor=BEN, capacity=1), "Nobody gets it: 2 of 1 are busy."),
    ],
)
def test_the_page_says_when_nobody_gets_the_slot(
    studio: Client, declare: Declare, ask: Ask, prepare: Callable[[], object], said: str
) -> None:
    """O2, O6: over capacity or paused, a free slot goes to nobody."""
    declare(calls=(2, 45 * M))
    slot, _ = ask("calls"), ask("calls")
    waiting = ask("calls")
    prepare()
    assert said in text(studio.get(path(slot)))
    assert "gets the slot" not in followed(studio.post(path(slot)), studio)
    assert state(waiting) == "waiting"


def test_a_double_click_releases_once_and_touches_no_other_slot(studio: Client, declare: Declare, ask: Ask) -> None:
    """Case 73: the second press meets the same slot, never the row that moved up."""
    declare(calls=(2, 45 * M))
    r1, r2, r3 = ask("calls", "r1"), ask("calls", "r2"), ask("calls", "r3")
    form = key(studio.get(path(r1)))
    for _ in range(3):
        assert "Released r1." in followed(studio.post(path(r1), form), studio)
    assert [state(slot) for slot in (r1, r2, r3)] == ["released", "busy", "reserved"]
    assert len(queries.changes(limit="calls").items) == 1 + 1, "one release beside the declaration"


@pytest.mark.parametrize("sent", [{}, {"key": "x" * 300}, {"key": "\0"}, {"key": "0" * 32}])
def test_a_slot_already_free_changes_nothing_and_says_when_it_was_freed(
    studio: Client, declare: Declare, ask: Ask, sent: dict[str, str]
) -> None:
    """S3: a slot already gone says so kindly; it is no error."""
    declare(calls=(1, 45 * M))
    slot, waiting = ask("calls"), ask("calls")
    engine.release(slot.id, actor=BEN)
    page = studio.get(path(slot))
    assert page.status_code == 200
    assert "This slot is already free ben@example.com released it at" in text(page)
    assert "Release slot" not in page.content.decode()
    assert "Nothing changed. That slot was already free (released " in followed(studio.post(path(slot), sent), studio)
    assert state(waiting) == "reserved"


def test_a_slot_taken_back_at_max_hold_says_so(studio: Client, declare: Declare, clock: Clock, ask: Ask) -> None:
    """F3: max hold took it back."""
    declare(calls=(1, 45 * M))
    slot = ask("calls")
    clock.advance(46 * M)
    assert "Overdue since" in text(studio.get(path(slot)))
    engine.sweep()
    assert "This slot is already free Max hold took it back at" in text(studio.get(path(slot)))
    said = followed(studio.post(path(slot)), studio)
    assert "Nothing changed. That slot was already free. Max hold took it back at" in said


def test_a_reserved_or_waiting_slot_cannot_be_released_by_hand(studio: Client, declare: Declare, ask: Ask) -> None:
    """S3: reserved is confirmed or passed on by itself; waiting holds nothing."""
    declare(calls=(1, 45 * M))
    busy, reserved, waiting = ask("calls"), ask("calls"), ask("calls")
    engine.release(busy.id, actor=BEN)
    assert "This slot is only reserved It is confirmed or passed on by" in text(studio.get(path(reserved)))
    assert "It holds no slot, so there is nothing to release." in text(studio.get(path(waiting)))
    for slot in (reserved, waiting):
        assert "Only a busy slot can be released." in followed(studio.post(path(slot)), studio)
    assert (state(reserved), state(waiting)) == ("reserved", "waiting")


def test_a_slot_that_never_was_used_says_how_it_left(studio: Client, declare: Declare, ask: Ask) -> None:
    """F5: withdrawn before it was confirmed."""
    declare(calls=(1, 45 * M))
    ask("calls")
    waiting = ask("calls")
    engine.withdraw(waiting.id, actor=BEN)
    assert "This slot is gone It was never put to use: it left the queue at" in text(studio.get(path(waiting)))


@pytest.mark.parametrize(
    "slot_id",
    ["abc", "0", "9" * 30, "..%2Fx", str(uuid.uuid4()), str(uuid.uuid4()) + "%0A", "%27", "'", "00000000", "%00"],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_odd_slot_id_is_not_found(studio: Client, declare: Declare, slot_id: str, method: str) -> None:
    """Case 51: never a server error."""
    declare(calls=(1, 45 * M))
    assert getattr(studio, method)(f"/limits/calls/slots/{slot_id}/release/").status_code == 404


def test_a_slot_of_another_limit_is_not_found(studio: Client, declare: Declare, ask: Ask) -> None:
    """S3: the address names limit and slot, and both count."""
    declare(calls=(1, 45 * M), other=(1, M))
    slot = ask("calls", "secret-label")
    for answer in (studio.get(path(slot, "other")), studio.post(path(slot, "other")), studio.get(path(slot, "nope"))):
        assert answer.status_code == 404
        assert "secret-label" not in answer.content.decode()
    assert state(slot) == "busy"


def test_reading_and_strangers_release_nothing(studio: Client, declare: Declare, ask: Ask) -> None:
    """Case 87: GET, HEAD and OPTIONS change nothing; a POST without the form's token is refused, without a label."""
    declare(calls=(1, 45 * M))
    slot = ask("calls", "secret-label")
    for method in (studio.get, studio.head):
        assert method(path(slot)).status_code == 200
    for method in (studio.options, studio.put, studio.patch, studio.delete):
        assert method(path(slot)).status_code == 405
    refused = Client(enforce_csrf_checks=True).post(path(slot))
    assert refused.status_code == 403
    assert "secret-label" not in refused.content.decode()
    assert state(slot) == "busy"


def test_a_reason_that_cannot_be_kept_is_refused_before_anything_happens(
    studio: Client, declare: Declare, ask: Ask
) -> None:
    """O7: bad input changes nothing; what was typed and the form's key are kept."""
    declare(calls=(1, 45 * M))
    slot = ask("calls")
    form = key(studio.get(path(slot)))
    page = studio.post(path(slot), form | {"reason": "x" * 501})
    assert page.status_code == 422
    assert "The reason must have at most 500 characters, got 501" in text(page)
    assert key(page) == form
    assert "x" * 501 in page.content.decode()
    assert state(slot) == "busy"


def test_an_unreachable_box_keeps_the_form_and_says_that_nothing_was_released(
    studio: Client, declare: Declare, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3: the box went away between the look and the press; the same key makes a second try safe."""
    declare(calls=(1, 45 * M))
    slot = ask("calls")
    form = key(studio.get(path(slot))) | {"reason": "typed"}

    def away(*_: Any, **__: Any) -> None:
        raise BoxUnreachableError("the server is gone")

    with monkeypatch.context() as patched:
        patched.setattr(engine, "release", away)
        page = studio.post(path(slot), form)
    assert page.status_code == 503
    assert "Not released. Studio could not reach the box. Try again." in text(page)
    assert 'tabindex="-1" autofocus>Not released' in page.content.decode()
    assert 'value="typed"' in page.content.decode()
    assert key(page) == {"key": form["key"]}
    assert "Released" in followed(studio.post(path(slot), form), studio)


def test_a_label_is_shown_literally_in_the_message(studio: Client, declare: Declare, ask: Ask) -> None:
    """Case 67: the message after a release."""
    declare(calls=(1, 45 * M))
    slot = ask("calls", "<script>alert(1)</script>")
    page = studio.get(studio.post(path(slot))["Location"])
    assert b"<script>alert" not in page.content
    assert "Released <script>alert(1)</script>." in text(page)


def test_a_release_leads_back_to_the_search_it_came_from(studio: Client, declare: Declare, ask: Ask) -> None:
    """S6: search, order and page of the list outlive the question and the answer, a refused reason included."""
    declare(calls=(3, 45 * M))
    slot = ask("calls", "ä&b")
    back = "/limits/calls/?q=%C3%A4%26b&order=expiry&busy="
    listed = html.unescape(studio.get(back).content.decode())
    link = re.search(rf'href="({path(slot)}[^"]*)"', listed)
    assert link is not None
    for page in (studio.get(link[1]), studio.post(link[1], {"reason": "x" * 501})):
        assert f'<a class="button" href="{back}"' in html.unescape(page.content.decode())
    done = studio.post(link[1])
    assert (done.status_code, done["Location"]) == (303, back)
    assert "Released ä&b." in text(studio.get(back))


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/limits/calls/?q=x",
        "//evil.example/limits/calls/?q=x",
        "/limits/other/?q=x",
        "/limits/calls/edit/?q=x",
        "/\\evil.example/?",
        "\x00/limits/calls/?q=x",
        "javascript:alert(1)",
        "",
    ],
)
def test_a_release_leads_nowhere_else(studio: Client, declare: Declare, ask: Ask, elsewhere: str) -> None:
    """S7: the address to return to is this limit's own page."""
    declare(calls=(1, 45 * M))
    slot = ask("calls")
    address = f"{path(slot)}?{urlencode({'next': elsewhere})}"
    assert '<a class="button" href="/limits/calls/"' in studio.get(address).content.decode()
    assert studio.post(address)["Location"] == "/limits/calls/"


def test_an_address_to_return_to_adds_no_header(studio: Client, declare: Declare, ask: Ask) -> None:
    """S7: a line break in it stays part of the address."""
    declare(calls=(1, 45 * M))
    address = f"{path(ask('calls'))}?{urlencode({'next': '/limits/calls/?q=x\r\nX-Evil: 1'})}"
    done = studio.post(address)
    assert done["Location"] == "/limits/calls/?q=x%0D%0AX-Evil:%201"
    assert "X-Evil" not in done.headers


@pytest.mark.parametrize("signs", [(0x20000, 0x2A6DF), (0xF0000, 0xFFFFD)], ids=["long", "long once written out"])
def test_the_message_after_a_release_survives_the_longest_names(
    studio: Client, declare: Declare, ask: Ask, signs: tuple[int, int]
) -> None:
    """S3: names are shortened, or the cookie that carries the message would be too long and dropped."""
    declare(calls=(1, 45 * M))
    random = Random(7)
    long = ["".join(chr(random.randint(*signs)) for _ in range(200)) for _ in range(4)]
    slot, waiting = ask("calls", long[0], run=long[1]), ask("calls", long[2], run=long[3])
    names = ["".join(part for part, _ in unseen(f"{name[:39]}…")) for name in long]
    assert f"Released {names[0]}. {names[3]} gets the slot." in followed(studio.post(path(slot)), studio)
    engine.confirm(waiting.id)
    ask("calls", "x" * 40)
    assert f"Released {names[2]}. {'x' * 40} gets the slot." in followed(studio.post(path(waiting)), studio)


def test_a_slot_of_an_unknown_limit_is_a_page_with_near_names(studio: Client, declare: Declare, ask: Ask) -> None:
    """A4: it is the limit that is unknown, and the page says so."""
    declare(calls=(1, 45 * M))
    slot = ask("calls")
    for page in (studio.get(path(slot, "cals")), studio.post(path(slot, "cals"))):
        assert page.status_code == 404
        assert "No limit called “cals” Did you mean calls?" in text(page)
    assert state(slot) == "busy"


def test_a_slot_of_a_limit_no_longer_declared_can_be_released(studio: Client, declare: Declare, ask: Ask) -> None:
    """D8, F1: releasing works for an undeclared limit."""
    declare(calls=(1, 45 * M))
    slot = ask("calls", "call-1")
    declare(other=(1, M))
    assert "Released call-1." in followed(studio.post(path(slot)), studio)


def test_two_operators_at_once_release_once(studio: Client, declare: Declare, ask: Ask) -> None:
    """S3: a dialog opened for a slot that somebody else released meanwhile."""
    declare(calls=(2, 45 * M))
    slot, other, waiting = ask("calls", "r1"), ask("calls", "r2"), ask("calls", "r3")
    mine, theirs = key(studio.get(path(slot))), key(studio.get(path(slot)))
    assert mine != theirs
    assert "Released r1. r3 gets the slot." in followed(studio.post(path(slot), theirs), studio)
    assert "Nothing changed. That slot was already free" in followed(studio.post(path(slot), mine), studio)
    assert [state(x) for x in (slot, other, waiting)] == ["released", "busy", "reserved"]
