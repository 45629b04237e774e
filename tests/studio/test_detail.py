"""The page of one limit."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from limits import engine, queries, rules
from limits.engine import Actor
from limits.wording import clock as written
from tests.conftest import Clock
from tests.studio.conftest import Ask
from tests.studio.read import text, title

ANA = Actor(name="ana@example.com", source="studio")
M = rules.MINUTE

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    "{{7*7}}",
    "{% csrf_token %}",
    "javascript:alert(1)",
    "<div hx-get=/x hx-trigger=load>",
    "</title>",
    "&amp;",
    "\u202eevil",
]


def rows(page: Any, list_id: str) -> list[str]:
    """Return what each row of a list says; `T` stands for each duration, since the real clock runs on."""
    part = page.content.decode().split(f'id="{list_id}"')[1].split("</section>")[0]
    found = re.findall(r'<tr role="row" id="slot-.*?</tr>', part, flags=re.DOTALL)
    return [re.sub(r"\b\d+[dhm] \d+[hms]\b|\b\d+s\b", "T", text(row)) for row in found]


def test_busy_slots_come_first_then_reserved_then_the_queue(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask
) -> None:
    """S2: busy oldest first, with run and label; reserved; the queue in order with position."""
    declare(calls=(2, 45 * M))
    first = ask("calls", "call-1", run="run_1")
    clock.advance(60_000)
    ask("calls", "call-2", run="run_2")
    for n in (3, 4, 5):
        clock.advance(1_000)
        ask("calls", f"call-{n}", run=f"run_{n}", timeout=30 * M)
    engine.release(first.id, actor=ANA)
    clock.advance(14_000)
    page = studio.get("/limits/calls/")
    said = text(page)
    assert rows(page, "busy")[0].startswith("Busy run_2place-call call-2 T T left Release… call-2")
    assert rows(page, "busy")[1].startswith("Reserved run_3place-call call-3 T confirm in T")
    assert "Release" not in rows(page, "busy")[1]
    assert rows(page, "queue")[0].startswith("1 run_4place-call Next call-4 T ")
    assert rows(page, "queue")[1].startswith("2 run_5place-call call-5 T – T left")
    assert "Busy 1 / 2 +1 reserved Waiting 2 Oldest wait" in said
    assert "Capacity 2, declared · Max hold 45m, declared" in said
    assert "All 2 slots are in use. 2 runs wait. The next slot frees by" in said
    assert title(page) == "(2) calls · Studio"


def test_a_slot_without_a_run_belongs_to_a_plain_client(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """S2: who holds a slot is always said."""
    declare(calls=(1, M))
    ask("calls")
    assert rows(studio.get("/limits/calls/"), "busy")[0].startswith("Busy Plain client – ")


@pytest.mark.parametrize(
    ("passed", "mark", "said"),
    [
        (30 * M, "", "T left"),
        (37 * M, "near", "T left"),
        (45 * M + 5_000, "", "Taking back…"),
        (47 * M, "overdue", "Overdue T"),
    ],
)
def test_a_slot_is_marked_as_its_max_hold_comes_and_goes(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask, passed: int, mark: str, said: str
) -> None:
    """F3: near its max hold, being taken back, overdue; the last is an anomaly and says so."""
    declare(calls=(20, 45 * M))
    slot = ask("calls")
    clock.advance(passed)
    page = studio.get("/limits/calls/")
    assert f" T {said} Release…" in rows(page, "busy")[0]
    row = re.search(rf'<tr role="row" id="slot-{slot.id}"([^>]*)>', page.content.decode())
    assert row is not None
    assert row[1] == (f' class="{mark}"' if mark else "")
    assert ("A slot is past its max hold" in text(page)) is (mark == "overdue")


def test_a_slot_granted_before_the_max_hold_changed_says_its_own(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """O3: an expiry never changes within a grant."""
    declare(calls=(20, 45 * M))
    ask("calls")
    engine.edit("calls", actor=ANA, max_hold=2 * rules.HOUR)
    ask("calls")
    before, after = rows(studio.get("/limits/calls/"), "busy")
    assert "of 45m, set before the change" in before
    assert "set before" not in after
    assert "Max hold 2h, override by ana@example.com" in text(studio.get("/limits/calls/"))


def test_the_queue_says_by_when_each_run_starts_at_the_latest(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask
) -> None:
    """S2: the k-th run starts when the k-th soonest slot ends, one pass later; over capacity the first ends are lost."""
    declare(calls=(4, 10 * M))
    held = []
    for _ in range(4):
        held.append(ask("calls"))
        clock.advance(M)
    for _ in range(5):
        ask("calls")
    engine.edit("calls", actor=ANA, capacity=3)
    page = studio.get("/limits/calls/").content.decode()
    starts = [text(cell) for cell in re.findall(r'data-before="starts by">(.*?)</td>', page, flags=re.DOTALL)]
    ends = [slot.expires_at + timedelta(seconds=15) for slot in held if slot.expires_at]
    limit = queries.limit("calls")
    assert limit is not None
    assert starts == [*(written(at, now=limit.now) for at in ends[1:]), "–", "–"]


def test_a_limit_over_capacity_says_by_when_the_queue_moves(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask
) -> None:
    """O2: with 4 held of 2, three must end; the sentence and the preview of an edit name the third's expiry."""
    declare(calls=(4, 10 * M))
    held = []
    for _ in range(4):
        held.append(ask("calls"))
        clock.advance(M)
    engine.edit("calls", actor=ANA, capacity=2)
    limit = queries.limit("calls")
    assert limit is not None

    def by(slot: queries.SlotRow) -> str:
        assert slot.expires_at is not None
        return f"by {written(slot.expires_at + timedelta(seconds=15), now=limit.now)} at the latest."

    said = text(studio.get("/limits/calls/"))
    assert f"3 slots must free before a new run gets one. That is {by(held[2])}" in said
    previewed = studio.post("/limits/calls/edit/", {"capacity": "1", "max_hold": "10m", "preview": "1"})
    assert f"4 busy slots must finish before the next run starts; {by(held[3])}" in text(previewed)


def test_a_run_that_may_time_out_before_it_starts_is_marked(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """Q4: the timeout may pass first."""
    declare(calls=(1, 45 * M))
    ask("calls")
    ask("calls", timeout=5 * M)
    assert "may time out first" in rows(studio.get("/limits/calls/"), "queue")[0]


@pytest.mark.parametrize(
    ("passed", "said"), [(2 * M, "T left"), (5 * M - 20_000, "T left"), (5 * M, "Timing out…"), (7 * M, "Timing out…")]
)
def test_a_wait_past_its_timeout_says_that_it_ends(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask, passed: int, said: str
) -> None:
    """Q4, F8: the next pass ends it; until then nothing is left to count."""
    declare(calls=(1, 45 * M))
    ask("calls")
    ask("calls", timeout=5 * M)
    clock.advance(passed)
    assert rows(studio.get("/limits/calls/"), "queue")[0].endswith(said)


def test_nothing_is_promised_while_the_limit_is_paused(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """O6: no new grants, the queue stays in order."""
    declare(calls=(1, 45 * M))
    ask("calls")
    ask("calls")
    engine.pause("calls", actor=ANA, reason="provider <b>outage</b>")
    page = studio.get("/limits/calls/")
    assert re.findall(r'data-before="starts by">(.*?)</td>', page.content.decode()) == [
        '<span title="Nobody can tell by when it starts: the limit is paused.">–</span>'
    ]
    assert "Paused by ana@example.com" in text(page)
    assert "provider <b>outage</b>" in text(page)
    assert "Resume…" in text(page)


def test_a_late_run_is_marked_at_the_end_of_the_queue(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask
) -> None:
    """Q6: not confirmed in time, it moves to the end and keeps waiting."""
    declare(calls=(1, 45 * M))
    held = ask("calls")
    ask("calls", "late")
    ask("calls", "prompt")
    engine.release(held.id, actor=ANA)
    clock.advance(rules.RESERVATION + 1_000)
    engine.sweep()
    page = studio.get("/limits/calls/")
    assert rows(page, "busy")[0].startswith("Reserved Plain client prompt")
    assert rows(page, "queue")[0].startswith("1 Plain client Next missed its slot late")


def test_busy_slots_can_be_ordered_by_expiry(
    studio: Client, declare: Callable[..., object], clock: Clock, ask: Ask
) -> None:
    """S2: what comes back next is one click away."""
    declare(calls=(5, 2 * rules.HOUR))
    ask("calls", "long")
    engine.edit("calls", actor=ANA, max_hold=10 * M)
    clock.advance(1_000)
    ask("calls", "short")
    oldest = [row.split()[3] for row in rows(studio.get("/limits/calls/"), "busy")]
    soonest = [row.split()[3] for row in rows(studio.get("/limits/calls/?order=expiry"), "busy")]
    assert (oldest, soonest) == (["long", "short"], ["short", "long"])


def test_lists_come_in_pages_of_a_hundred_each_with_its_own_place(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """S2, case 18: pages lose nothing and repeat nothing; positions are absolute."""
    declare(calls=(150, 45 * M))
    for n in range(300):
        ask("calls", f"call-{n:03}")
    page = studio.get("/limits/calls/")
    assert "Showing 100 of 150, oldest first Next" in text(page)
    busy_next = re.search(r'href="\?(busy=[^"#]*)#busy"[^>]*>Next', page.content.decode())
    queue_next = re.search(r'href="\?(queue=[^"#]*)#queue"[^>]*>Next', page.content.decode())
    assert busy_next
    assert queue_next
    second = studio.get(f"/limits/calls/?{busy_next[1]}&{queue_next[1]}")
    assert [row.split()[3] for row in rows(second, "busy")] == [f"call-{n:03}" for n in range(100, 150)]
    assert [row.split()[0] for row in rows(second, "queue")] == [str(n) for n in range(101, 151)]
    assert [re.findall(r"call-\d+", row)[0] for row in rows(second, "queue")] == [f"call-{n}" for n in range(250, 300)]
    assert "First page" in text(second)


@pytest.mark.parametrize("order", ["", "&order=expiry"])
@pytest.mark.parametrize("place", ["0", "-1", "abc", "9" * 30, "1e9", "%00", "’", "1_x", "../x", "1%0a"])
def test_a_place_that_is_none_is_no_server_error(
    studio: Client, declare: Callable[..., object], ask: Ask, place: str, order: str
) -> None:
    """Case 51: odd page numbers."""
    declare(calls=(1, 45 * M))
    ask("calls")
    ask("calls")
    for key in ("busy", "queue", "reserved"):
        assert studio.get(f"/limits/calls/?{key}={place}{order}").status_code in (200, 404)


def test_search_finds_runs_labels_and_slot_ids_by_their_beginning(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """S2, case 51: prefixes, % and _ literally, in busy slots and queue alike."""
    declare(calls=(2, 45 * M))
    slots = [
        ask("calls", label, run=run)
        for label, run in (("a_1", "run_x"), ("a%2", "run_y"), ("b", "run_x9"), ("ab", None))
    ]

    def found(q: str) -> tuple[int, int]:
        page = studio.get("/limits/calls/", {"q": q})
        assert page.status_code == 200
        return len(rows(page, "busy")), len(rows(page, "queue"))

    assert found("a") == (2, 1)
    assert found("a_") == (1, 0)
    assert found("a%") == (1, 0)
    assert found(" run_x ") == (1, 1)
    assert found(slots[2].id) == (0, 1)
    assert found("\0") == (0, 0)
    assert found("x" * 100_000) == (0, 0)
    said = text(studio.get("/limits/calls/", {"q": "ab"}))
    assert "2 Plain client ab" in said, "the position is the one in the whole queue"
    assert "No busy slot’s run, label or ID starts with “ab”." in said


def test_empty_lists_say_so(studio: Client, declare: Callable[..., object]) -> None:
    """S2: an empty limit."""
    declare(calls=(2, 45 * M))
    said = text(studio.get("/limits/calls/"))
    assert "No busy slots." in said
    assert "No runs are waiting." in said
    assert "Nothing is using this limit." in said


def test_labels_are_shown_literally(studio: Client, declare: Callable[..., object], ask: Ask) -> None:
    """Case 67: hostile labels in list, release page, search and title."""
    declare(calls=(20, 45 * M))
    slots = [ask("calls", label, run=label) for label in HOSTILE]
    page = studio.get("/limits/calls/")
    assert page["Content-Type"].startswith("text/html")
    for label, row in zip(HOSTILE, rows(page, "busy"), strict=True):
        assert row.count(" ".join(label.split()).replace("\u202e", "<U+202E>")) == 3
    assert page.content.decode().count("\u202e") == 0
    for markup in ("<script>alert", "<img", "<div hx-get", "</title></bdi>", "&amp;</bdi>"):
        assert markup not in page.content.decode()
    for label, slot in zip(HOSTILE, slots, strict=True):
        release = studio.get(f"/limits/calls/slots/{slot.id}/release/")
        assert label.replace("\u202e", "<U+202E>") in text(release)
        assert title(release) == "Release a slot of calls · Studio"
        assert label in text(studio.get("/limits/calls/", {"q": label}))


def test_a_limit_no_longer_declared_can_only_be_watched_and_emptied(
    studio: Client, declare: Callable[..., object], ask: Ask
) -> None:
    """D8: held slots can be released; new acquires fail; an override is kept."""
    declare(old=(2, 45 * M), new=(1, M))
    ask("old", "held")
    engine.edit("old", actor=ANA, capacity=1)
    declare(new=(1, M))
    page = studio.get("/limits/old/")
    said = text(page)
    assert "This limit is no longer in stackbone_config.py. 1 busy slot keeps running and frees at release" in said
    assert "Edit limit" not in said
    assert "Reset capacity override…" in said
    assert "Release…" in said
    assert studio.get("/limits/old/edit/").status_code == 410


@pytest.mark.parametrize("name", ["voice-cals", "Voice-Calls", "x" * 100])
def test_an_unknown_limit_is_a_page_with_near_names(studio: Client, declare: Callable[..., object], name: str) -> None:
    """A4: an unknown limit names near matches."""
    declare(**{"voice-calls": (1, M)})
    page = studio.get(f"/limits/{name}/")
    assert page.status_code == 404
    if name == "voice-cals":
        assert "Did you mean voice-calls?" in text(page)


@pytest.mark.parametrize("name", [".", "..", "a.b", "-", "_", "0", "edit", "z" * 64])
def test_every_legal_name_has_its_page(studio: Client, declare: Callable[..., object], ask: Ask, name: str) -> None:
    """D1: every legal name works in addresses."""
    declare(**{name: (2, M)})
    slot = ask(name)
    listed = studio.get("/limits/").content.decode()
    href = re.search(r'class="row-link" href="([^"]*)"', listed)
    assert href
    page = studio.get(href[1])
    assert page.status_code == 200
    for link in re.findall(r'href="(/limits/[^"]*)"', page.content.decode()):
        assert studio.get(link).status_code == 200, link
    release = re.search(r'href="([^"]*/release/)"', page.content.decode())
    assert release
    assert studio.post(release[1]).status_code == 303
    freed = queries.slot(slot.id)
    assert freed is not None
    assert freed.state == "released"


def test_the_page_costs_nine_queries_at_most(
    studio: Client, declare: Callable[..., object], ask: Ask, clock: Clock, statements: list[str]
) -> None:
    """S2: as many reads at 3 rows as at 100,000."""
    declare(calls=(2, 45 * M))
    first = ask("calls")
    for _ in range(4):
        ask("calls")
    engine.release(first.id, actor=ANA)
    clock.advance(M)
    engine.roll_up()
    statements.clear()
    studio.get("/limits/calls/")
    assert len(statements) <= 9
