"""One run: what it did, waits for and holds; and its cancelling, after a question."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from limits import engine, pool, queries, rules
from limits.engine import Actor
from limits.wording import clock as clock_time
from stackbone import runs
from tests.conftest import Clock
from tests.studio.conftest import Ask
from tests.studio.read import text
from tests.studio.runs import alive, know, record, start, turn, waits

BEN = Actor(name="ben@example.com", source="cli")
M = rules.MINUTE
HOSTILE = "</pre><script>alert(1)</script>\u202e"

type Declare = Callable[..., object]


@pytest.fixture
def run_id(box: pool.Database, declare: Declare) -> str:
    """Lend the id of a run that goes on, in a box with one limit of one slot."""
    declare(calls=(1, 45 * M))
    know("place_call")
    start(run_id="mine")
    turn(box, "mine", "PENDING")
    return "mine"


def test_a_run_shows_what_went_in_and_came_out(studio: Client, box: pool.Database, run_id: str) -> None:
    """S6: all of it in words, with the times."""
    record(box, run_id, 1, "dial_out")
    turn(box, run_id, "SUCCESS", output={"slot_id": "abc", "n": [1, None]})
    said = text(studio.get("/runs/mine/"))
    assert "mine Completed Workflow place_call Created " in said
    assert "Duration 1m 05s Worker blue" in said
    assert "dial_out Completed" in said
    assert 'Input { "call_id": "call-1" }' in said
    assert 'Output { "slot_id": "abc", "n": [ 1, null ] }' in said
    assert "Cancel run" not in said


def test_a_failed_run_shows_its_error_and_that_of_its_step(studio: Client, box: pool.Database, run_id: str) -> None:
    """Q4: type and message."""
    error = {"name": "SlotTimeoutError", "message": "no slot of calls"}
    record(box, run_id, 1, "dial_out", error=error)
    turn(box, run_id, "ERROR", error=error)
    said = text(studio.get("/runs/mine/"))
    assert "Error SlotTimeoutError: no slot of calls" in said
    assert "dial_outSlotTimeoutError: no slot of calls Failed" in said.replace("dial_out ", "dial_out")


def test_an_open_wait_tells_place_those_ahead_and_time_left(studio: Client, run_id: str, ask: Ask) -> None:
    """Q3: an open step, which says how the queue stands."""
    for n, label in enumerate(["a", "b", "c", "d", "e"]):
        ask("calls", label, run=f"run_{n}" if n != 4 else None)
    waits("calls", run_id)
    page = studio.get("/runs/mine/")
    said = text(page)
    assert "Esperando hueco · calls Position 5 in the queue of calls · times out in 23h 59m" in said
    assert "Right ahead: e, run_3, run_2 and 1 more" in said
    assert "Nobody can tell by when it starts: its place is beyond the busy slots." in said
    assert 'href="/runs/run_3/"' in page.content.decode()
    assert "Running" in said


def test_an_open_wait_tells_by_when_it_starts_or_what_is_in_its_way(
    studio: Client, run_id: str, ask: Ask, clock: Clock
) -> None:
    """Q3, S2: the same bound as on the limit's page, until nobody can tell."""
    ask("calls")
    clock.advance(30 * M)
    waits("calls", run_id)
    limit = queries.limit("calls")
    assert limit is not None
    assert limit.next_expiry is not None
    by = clock_time(limit.next_expiry + timedelta(seconds=15), now=limit.now)
    assert f"It starts by {by} at the latest." in text(studio.get("/runs/mine/"))
    assert by in text(studio.get("/limits/calls/"))
    engine.pause("calls", actor=BEN)
    assert "Nobody can tell by when it starts: the limit is paused." in text(studio.get("/runs/mine/"))


def test_a_reserved_slot_says_until_when_it_is_to_be_confirmed(
    studio: Client, run_id: str, ask: Ask, clock: Clock
) -> None:
    """Q6: two minutes from the grant; afterwards it is passed on."""
    held = ask("calls")
    waits("calls", run_id)
    engine.release(held.id, actor=BEN)
    assert "Esperando hueco · calls Reserved, confirm in 1m 5" in text(studio.get("/runs/mine/"))
    clock.advance(3 * M)
    assert "Its slot is being passed on…" in text(studio.get("/runs/mine/"))


def test_every_slot_of_a_run_is_listed_and_busy_ones_can_be_released(studio: Client, run_id: str) -> None:
    """F7: held, waited for and ended; the release comes back to the run."""
    ended = waits("calls", run_id, step=1, label="first")
    engine.release(ended.id, actor=BEN)
    busy = waits("calls", run_id, step=2, label="second")
    waits("calls", run_id, step=3, label="third")
    page = studio.get("/runs/mine/")
    said = text(page)
    assert "Released calls first" in said
    assert "by ben@example.com" in said
    assert "Busy calls second" in said
    assert "Waiting calls third" in said
    release = f"/limits/calls/slots/{busy.id}/release/?next=%2Fruns%2Fmine%2F"
    assert page.content.decode().count(f'href="{release}"') == 1
    assert studio.post(release)["Location"] == "/runs/mine/"
    assert 'class="button" href="/runs/mine/"' in studio.get(release).content.decode()


def test_a_forked_run_leads_to_the_other(studio: Client, box: pool.Database, run_id: str) -> None:
    """S6: a link, whether that run is still known or not."""
    box.fetch("UPDATE dbos.workflow_status SET forked_from = 'old one' RETURNING 1")
    assert '<a class="run-link" href="/runs/old%20one/">' in studio.get("/runs/mine/").content.decode()


@pytest.mark.parametrize("path", ["/runs/nope/", "/runs/%00/", "/runs/%0A/", "/runs/a/b/", "/runs/nope/cancel/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_an_unknown_run_is_not_found(studio: Client, path: str, method: str) -> None:
    """Never a server error."""
    if method == "post" and not path.endswith("/cancel/"):
        assert studio.post(path).status_code == 405
        return
    page = getattr(studio, method)(path)
    assert page.status_code == 404
    assert "There is no run with this id" in text(page)


def test_whatever_a_run_holds_is_text(studio: Client, box: pool.Database, declare: Declare) -> None:
    """Case 67: input, output, error, names and labels, lone surrogates too."""
    declare(calls=(1, 45 * M))
    know("place_call", HOSTILE)
    start(HOSTILE, {"call_id": HOSTILE + "\ud800"}, run_id="mine")
    waits("calls", "mine", step=2, label=HOSTILE)
    error = {"name": HOSTILE, "message": HOSTILE + "\ud800"}
    turn(box, "mine", "ERROR", error=error)
    record(box, "mine", 1, HOSTILE, error=error)
    for path in ("/runs/mine/", "/runs/", "/runs/mine/cancel/", "/workflows/"):
        page = studio.get(path)
        assert page.status_code == 200
        # The frame's own scripts have a source, and are all there is.
        assert re.findall(rb"<script[^>]*>", page.content) == re.findall(
            rb'<script [^>]*src="/static/[^>]*>', page.content
        )
    assert "<U+D800>" in text(studio.get("/runs/mine/"))


def test_a_huge_input_is_cut_and_says_so(studio: Client, box: pool.Database, run_id: str) -> None:
    """A page stays one that a browser can show."""
    turn(box, run_id, "SUCCESS", output="x" * 300_000)
    page = studio.get("/runs/mine/")
    assert "… 200,002 more characters" in text(page)
    assert len(page.content) < 150_000


def test_a_stranded_run_names_the_workflow_that_is_missing(studio: Client, run_id: str, migrated: str) -> None:
    """Q8: until a worker knows it, or an operator cancels it."""
    assert "No live worker knows the workflow place_call. The run waits until" in text(studio.get("/runs/mine/"))
    with alive(migrated, know("place_call")):
        assert "No live worker" not in text(studio.get("/runs/mine/"))


def test_the_question_says_what_stops_and_what_stays(studio: Client, run_id: str) -> None:
    """Q5, F7: it leaves the queue at once; what it holds stays held. Asking changes nothing."""
    busy = waits("calls", run_id, step=1, label="held-1")
    waiting = waits("calls", run_id, step=2)
    assert 'href="/runs/mine/cancel/"' in studio.get("/runs/mine/").content.decode()
    for method in (studio.get, studio.head):
        assert method("/runs/mine/cancel/").status_code == 200
    said = text(studio.get("/runs/mine/cancel/"))
    assert "Cancel this run?" in said
    assert "It begins no further step. A step under way may still finish." in said
    assert "It leaves the queue of calls at once." in said
    assert "It keeps the slot it holds, until it is released or the max hold passes" in said
    assert "calls · held-1 · 44m " in said
    assert [s.state for s in map(queries.slot, (busy.id, waiting.id)) if s] == ["busy", "waiting"]


def test_a_cancelled_run_leaves_its_queue_and_keeps_its_slot(studio: Client, run_id: str) -> None:
    """Q5, F7: through our own cancel at once."""
    busy, waiting = waits("calls", run_id, step=1), waits("calls", run_id, step=2)
    done = studio.post("/runs/mine/cancel/")
    assert (done.status_code, done["Location"]) == (303, "/runs/mine/")
    said = text(studio.get("/runs/mine/"))
    assert "Cancelled mine." in said
    assert "mine Cancelled Workflow" in said
    assert [s.state for s in map(queries.slot, (busy.id, waiting.id)) if s] == ["busy", "withdrawn"]


@pytest.mark.parametrize("status", ["SUCCESS", "ERROR", "CANCELLED"])
def test_a_run_that_has_ended_stays_as_it_is(studio: Client, box: pool.Database, run_id: str, status: str) -> None:
    """Q5: cancelled twice, or too late, is no error."""
    turn(box, run_id, status)
    page = studio.get("/runs/mine/cancel/")
    assert "This run has ended already" in text(page)
    assert ">Cancel run</button>" not in page.content.decode()
    before = runs.run(run_id)
    assert studio.post("/runs/mine/cancel/").status_code == 303
    assert "Nothing changed. That run had ended already (" in text(studio.get("/runs/mine/"))
    after = runs.run(run_id)
    assert before is not None
    assert after is not None
    assert before.row == after.row


def test_strangers_cancel_nothing(studio: Client, run_id: str) -> None:
    """Case 87: a POST without the form's token is refused."""
    assert Client(enforce_csrf_checks=True).post("/runs/mine/cancel/").status_code == 403
    run = runs.run(run_id)
    assert run is not None
    assert run.row.status == "running"
