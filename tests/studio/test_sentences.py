"""S1, S2: a limit's state in plain words, one sentence line for each."""

import ast
import inspect
import re

import pytest

from limits import wording
from limits.queries import LimitState
from studio import sentences
from tests.studio.read import text
from tests.studio.states import ago, ahead, limit, slot


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (
            limit(20, busy=20, waiting=7),
            "All 20 slots are in use. 7 runs wait. The next slot frees by 14:36:08 UTC at the latest.",
        ),
        (
            limit(1, busy=1),
            "The one slot is in use. No run waits. The next slot frees by 14:36:08 UTC at the latest.",
        ),
        (
            limit(5, busy=7, waiting=3),
            "7 busy, capacity 5. Nothing is taken back. 3 slots must free before the queue moves."
            " That is by 14:36:08 UTC at the latest.",
        ),
        (
            limit(5, busy=5, reserved=1),
            "5 busy and 1 reserved, capacity 5. Nothing is taken back. 2 slots must free before a new run gets one."
            " That is by 14:36:08 UTC at the latest.",
        ),
        (
            limit(20, busy=4, waiting=41, paused=True, reason="provider outage"),
            "Paused by ana@example.com at 14:10:08 UTC: provider outage. No slot is handed out."
            " 4 busy slots finish. 41 runs wait until their timeout.",
        ),
        (
            limit(20, busy=1, waiting=1, paused=True),
            "Paused by ana@example.com at 14:10:08 UTC. No slot is handed out."
            " 1 busy slot finishes. 1 run waits until its timeout.",
        ),
        (
            limit(5, busy=3, waiting=3, changed_at=ago(seconds=45)),
            "2 slots have been free for 45s. Yet 3 runs wait. The 15-second pass may be stopped.",
        ),
        (
            limit(5, busy=3, waiting=3),
            "2 slots are free. 3 runs wait. Free slots are handed out within 15 seconds.",
        ),
        (limit(20, busy=3), "17 slots are free."),
        (limit(20), "Nothing is using this limit."),
        (
            limit(20, busy=4, declared=False),
            "This limit is no longer in stackbone_config.py. 4 busy slots keep running and free at release or max hold."
            " New requests for it fail.",
        ),
        (
            limit(20, busy=20, waiting=1, declared=False),
            "This limit is no longer in stackbone_config.py. 20 busy slots keep running and free at release or max hold."
            " 1 waiting run is still served. New requests for it fail.",
        ),
    ],
)
def test_every_state_has_its_sentence(state: LimitState, said: str) -> None:
    """S2: what the page says follows the state."""
    assert text(sentences.standing(state, ahead(minutes=3, seconds=45))) == said


def test_no_time_is_promised_once_it_has_passed() -> None:
    """S2: a slot that was due a minute ago gives no bound."""
    assert "latest" not in sentences.standing(limit(20, busy=20), ago(minutes=1))


def test_a_pause_reason_is_shown_literally() -> None:
    """Case 67: hostile text stays text."""
    said = sentences.standing(limit(paused=True, reason="<script>alert(1)</script>"), None)
    assert "<script" not in said
    assert "<script>alert(1)</script>" in text(said)


@pytest.mark.parametrize(
    ("state", "queued", "said"),
    [
        (limit(20, busy=20, waiting=1), True, "run_8Hq2Zt, waited 12m 00s. It gets the slot at once."),
        (limit(20, busy=20), False, "No run is waiting. The slot becomes free."),
        (limit(5, busy=7, waiting=1), True, "Nobody gets it: 7 of 5 are busy."),
        (limit(5, busy=6, reserved=1, waiting=1), True, "Nobody gets it: 7 of 5 are in use."),
        (limit(20, busy=20, waiting=1, paused=True), True, "Nobody gets it: the limit is paused."),
    ],
)
def test_a_release_says_who_gets_the_slot(state: LimitState, queued: bool, said: str) -> None:
    """S3: the confirmation says what follows."""
    assert text(sentences.after_release(state, slot("waiting") if queued else None)) == said


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("released", "ben released it at 14:30:08 UTC."),
        ("expired", "Max hold took it back at 14:30:08 UTC."),
        ("timed_out", "It was never handed out: the run's wait timed out at 14:30:08 UTC."),
        ("withdrawn", "It was never put to use: it left the queue at 14:30:08 UTC."),
    ],
)
def test_an_ended_slot_says_who_took_it_out_of_use(state: str, said: str) -> None:
    """S3: a slot already gone says so kindly."""
    assert text(sentences.how_it_ended(slot(state, ended_at=ago(minutes=2), ended_by="ben"), limit().now)) == said


def test_a_slot_is_named_by_what_people_know_it_by() -> None:
    """S3: run for who gets it, label for what was released, its own id when it has neither."""
    assert text(sentences.who(slot())) == "run_8Hq2Zt"
    assert text(sentences.what(slot())) == "call_9f31c2"
    assert text(sentences.who(slot(run_id=None))) == "call_9f31c2"
    assert text(sentences.what(slot(label=None))) == "run_8Hq2Zt"
    bare = slot(label=None, run_id=None)
    assert text(sentences.what(bare)) == f"slot {bare.id}"


@pytest.mark.parametrize(("seconds", "late"), [(29, False), (31, True)])
def test_a_slot_is_overdue_after_two_passes(seconds: int, late: bool) -> None:
    """F8: nothing due waits for longer than a pass while a worker lives; afterwards no instant is promised."""
    state = limit(5, busy=7, waiting=1, next_expiry=ago(seconds=seconds))
    assert state.overdue is late
    assert ("latest" not in sentences.standing(state, ahead(minutes=3))) is late
    assert not limit(5, busy=5).overdue


def test_every_sentence_stands_whole_in_the_source() -> None:
    """S2: translators get it as it is written, and each of its places has a value."""
    calls = [
        call
        for call in ast.walk(ast.parse(inspect.getsource(wording)))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("said", "said_of")
    ]
    assert len(calls) > 30
    for call in calls:
        forms = call.args[: 2 if getattr(call.func, "id", "") == "said_of" else 1]
        given = {value.arg for value in call.keywords} | ({"number"} if len(forms) == 2 else set())
        for form in forms:
            assert isinstance(form, ast.Constant), ast.unparse(call)
            assert set(re.findall(r"%\((\w+)\)s", form.value)) <= given, ast.unparse(call)
        assert given == {*re.findall(r"%\((\w+)\)s", " ".join(form.value for form in forms))}, ast.unparse(call)
