"""The list of runs: what each does and waits for, filtered and turned by the address."""

import html
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from django.test import Client

from limits import pool, rules
from stackbone import runs
from tests.studio.read import text
from tests.studio.runs import alive, know, start, turn, waits

M = rules.MINUTE

type Declare = Callable[..., object]


def test_without_runs_the_page_tells_how_to_start_one(studio: Client) -> None:
    """S1: the first page a newcomer sees."""
    page = studio.get("/runs/")
    assert page.status_code == 200
    assert "No runs yet" in text(page)
    assert "stackbone trigger" in text(page)
    assert 'href="/workflows/"' in page.content.decode()


def test_a_row_says_what_the_run_does_and_waits_for(
    studio: Client, declare: Declare, box: pool.Database, migrated: str
) -> None:
    """Q3: a waiting run is running, and names the limit it waits for."""
    declare(calls=(1, 45 * M))
    with alive(migrated, know("place_call")):
        run_id = start()
        turn(box, run_id, "PENDING")
        waits("calls", "other")
        waits("calls", run_id)
        page = studio.get("/runs/")
    assert f"{run_id}place_call Running calls " in text(page)
    assert f'href="/runs/{run_id}/"' in page.content.decode()
    assert '<a href="/limits/calls/">calls</a>' in page.content.decode()
    assert "blue" in text(page)
    assert "Stranded" not in text(page)


def test_the_newest_run_comes_first_and_pages_hold_every_run_once(studio: Client, box: pool.Database) -> None:
    """A page begins where the one before ended, whatever starts meanwhile."""
    know("place_call")
    started = [start(run_id=f"run-{n:03}") for n in range(runs.PAGE_SIZE + 3)]
    first = studio.get("/runs/")
    older = re.search(r'href="(\?after=[^"]+)" rel="next">Older runs', first.content.decode())
    assert older is not None
    start(run_id="run-late")
    second = studio.get(f"/runs/{older[1]}")
    seen = re.findall(r'href="/runs/(run-[0-9]+)/"', first.content.decode() + second.content.decode())
    assert sorted(seen) == started
    assert seen[0] > seen[-1]
    assert "Newest runs" in text(second)
    assert "Older runs" not in text(second)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("status=queued", {"idle", "waiting"}),
        ("status=completed", {"done"}),
        ("status=failed", {"broken"}),
        ("workflow=export", {"broken"}),
        ("workflow=place_call&status=completed", {"done"}),
        ("waiting=1", {"waiting"}),
        ("", {"idle", "waiting", "done", "broken"}),
    ],
)
def test_filters_show_a_part_of_the_runs(
    studio: Client, declare: Declare, box: pool.Database, asked: str, found: set[str]
) -> None:
    """S6: every filter is a link or a form, and has an address."""
    declare(calls=(1, 45 * M))
    know("place_call", "export")
    for run_id in ("idle", "waiting", "done"):
        start(run_id=run_id)
    start("export", run_id="broken")
    turn(box, "done", "SUCCESS", output={})
    turn(box, "broken", "ERROR", error={"name": "ValueError", "message": "no"})
    waits("calls", "other")
    waits("calls", "waiting")
    page = studio.get(f"/runs/?{asked}").content.decode()
    assert set(re.findall(r'<a class="run-link" href="/runs/(\w+)/"', page)) == found


def test_a_filter_that_matches_nothing_says_so(studio: Client) -> None:
    """S1: no run, and the way back to all."""
    assert "No run of “<b>x” is failed. Show all" in text(studio.get("/runs/?workflow=%3Cb%3Ex&status=failed"))
    assert "No run waits for a slot. Show all" in text(studio.get("/runs/?waiting=1"))


@pytest.mark.parametrize(
    "asked", ["status=nope", "status=%00", "waiting=yes", "after=x", "after=1_%00", "after=9" * 20]
)
def test_a_filter_that_no_page_offers_is_not_understood(studio: Client, asked: str) -> None:
    """Never a server error."""
    page = studio.get(f"/runs/?{asked}")
    assert page.status_code == 400
    assert "Studio did not understand this request" in text(page)


@pytest.mark.parametrize("workflow", ["%00", "%FF", "'", "x" * 5_000, "%ED%A0%80"])
def test_an_odd_workflow_finds_nothing(studio: Client, workflow: str) -> None:
    """Never a server error."""
    assert studio.get(f"/runs/?workflow={workflow}").status_code == 200


def test_a_run_that_no_live_worker_knows_is_stranded(studio: Client, box: pool.Database, migrated: str) -> None:
    """Q8: shown with the name that is missing, until a worker knows it or it is cancelled."""
    worker = know("place_call")
    start(run_id="left")
    start(run_id="done")
    turn(box, "done", "SUCCESS")
    said = text(studio.get("/runs/"))
    assert said.count("Queued Stranded") == 1
    assert "no live worker knows the run’s workflow place_call. The run waits until a worker knows it" in said
    with alive(migrated, worker):
        assert "Stranded" not in text(studio.get("/runs/"))


@pytest.mark.parametrize(
    "run_id", ["<script>alert(1)</script>", "a/b", "..", "~..", "a b%2F?#&", "run\u202e1", "ü" * 80]
)
def test_any_id_is_text_and_leads_to_its_run(studio: Client, run_id: str) -> None:
    """Programs choose the ids of their runs."""
    know("place_call")
    start(run_id=run_id)
    page = studio.get("/runs/").content.decode()
    assert "<script>alert" not in page
    link = re.search(r'class="run-link" href="([^"]+)"', page)
    assert link is not None
    address = html.unescape(link[1])
    assert studio.get(address).status_code == 200
    assert "Cancel this run?" in text(studio.get(f"{address}cancel/"))


def test_runs_stand_in_the_navigation(studio: Client) -> None:
    """S6: one link from every page."""
    assert '<a href="/runs/" aria-current="page" data-go="r">Runs</a>' in studio.get("/runs/").content.decode()
    for path in ("/limits/", "/workflows/"):
        assert '<a href="/runs/"' in studio.get(path).content.decode()
    assert 'aria-current="page" data-go="r">Runs' not in studio.get("/workflows/").content.decode()
    assert studio.post("/runs/").status_code == 405


def test_a_limit_and_its_slots_lead_to_the_runs(studio: Client, declare: Declare) -> None:
    """S2: the run of a slot is a link, known or not; a plain client has none."""
    declare(calls=(1, 45 * M))
    busy, _ = waits("calls", "run one"), waits("calls", "run_2")
    page = studio.get("/limits/calls/").content.decode()
    for run_id in ("run one", "run_2"):
        assert f'href="/runs/{quote(run_id)}/"' in page
    assert 'href="/runs/run%20one/"' in studio.get(f"/limits/calls/slots/{busy.id}/release/").content.decode()
    assert studio.get("/runs/run%20one/").status_code == 404
