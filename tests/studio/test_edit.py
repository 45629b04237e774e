"""Edit limit."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from limits import engine, queries, rules
from limits.engine import Actor
from tests.studio.conftest import Ask
from tests.studio.editing import PATH, calls, save
from tests.studio.read import fields, followed, text, title

BEN = Actor(name="ben@example.com", source="cli")
M = rules.MINUTE

type Declare = Callable[..., object]


def test_the_form_opens_with_the_values_in_force_and_says_where_they_come_from(
    studio: Client, declare: Declare
) -> None:
    """Case 34: effective values, provenance beside each."""
    declare(calls=(20, 90 * M))
    engine.edit("calls", actor=BEN, capacity=30)
    page = studio.get(PATH)
    assert fields(page) == {
        "expected_capacity": "30",
        "expected_max_hold": str(90 * M),
        "capacity": "30",
        "max_hold": "1h30m",
        "reason": "",
    }
    said = text(page)
    assert "Declared 20 · Override 30 by ben@example.com, " in said
    assert "Reset to declared (20)" in said
    assert "Declared 1h30m · No override" in said
    assert "= 1 hour 30 minutes" in said


def test_an_unchanged_save_stores_nothing_and_the_limit_follows_the_next_deploy(
    studio: Client, declare: Declare
) -> None:
    """Case 34: no override by an unchanged save, with and without an override before."""
    declare(calls=(20, 45 * M))
    assert "No changes." in followed(save(studio), studio)
    assert not calls().overridden
    declare(calls=(25, 60 * M))
    assert (calls().capacity.effective, calls().max_hold.effective) == (25, 60 * M)
    engine.edit("calls", actor=BEN, capacity=30)
    before = queries.changes()
    save(studio)
    assert queries.changes() == before


def test_each_field_is_stored_alone(studio: Client, declare: Declare) -> None:
    """O1: two independent fields."""
    declare(calls=(20, 45 * M))
    assert "Capacity is now 30." in followed(save(studio, capacity="30"), studio)
    assert (calls().capacity.override, calls().max_hold.override) == (30, None)
    assert "Max hold is now 2h for new slots." in followed(save(studio, max_hold=" 2h "), studio)
    assert (calls().capacity.override, calls().max_hold.override) == (30, 120 * M)


def test_a_save_is_recorded_with_who_where_and_why(studio: Client, declare: Declare) -> None:
    """O7: who, when, from where, before, after, reason."""
    declare(calls=(20, 45 * M))
    save(studio, capacity="30", reason=" Black Friday ")
    change = queries.changes(limit="calls").items[0]
    assert (change.kind, change.before, change.after) == ("capacity", "20", "30")
    assert (change.source, change.reason) == ("studio", "Black Friday")
    assert "@" in change.actor


def test_a_raise_starts_waiting_runs_and_says_how_many(studio: Client, declare: Declare, ask: Ask) -> None:
    """F4: granted at once."""
    declare(calls=(1, 45 * M))
    for _ in range(4):
        ask("calls")
    assert "Capacity is now 3. 2 runs started." in followed(save(studio, capacity="3"), studio)
    assert (calls().reserved, calls().waiting) == (2, 1)


def test_a_preview_says_what_will_happen_and_stores_nothing(studio: Client, declare: Declare, ask: Ask) -> None:
    """S4: what the change will do, without JavaScript too."""
    declare(calls=(2, 45 * M))
    for _ in range(5):
        ask("calls")
    typed = fields(studio.get(PATH)) | {"capacity": "4", "max_hold": "2h", "reason": "why", "preview": "1"}
    page = studio.post(PATH, typed)
    assert page.status_code == 200
    assert "What will happen 2 to 4. Starts 2 of 3 waiting runs at once. 45m to 2h for new slots." in text(page)
    assert fields(page) | {"preview": "1"} == typed, "what was typed, and what was seen, is kept"
    assert not calls().overridden
    typed = fields(studio.get(PATH)) | {"preview": "1"}
    assert "What will happen No changes." in text(studio.post(PATH, typed))


def test_an_override_equal_to_the_declared_value_is_announced_as_one(studio: Client, declare: Declare) -> None:
    """O5: it survives a deploy."""
    declare(calls=(20, 45 * M))
    engine.edit("calls", actor=BEN, capacity=30)
    page = studio.post(PATH, fields(studio.get(PATH)) | {"capacity": "20", "preview": "1"})
    assert "Same as the declared value. This still stores an override." in text(page)
    save(studio, capacity="20")
    assert calls().capacity.override == 20


def test_a_warned_save_is_asked_about_once(studio: Client, declare: Declare, ask: Ask) -> None:
    """O2: lowering below what is held takes nothing back; the same rule with and without scripts."""
    declare(calls=(3, 45 * M))
    for _ in range(3):
        ask("calls")
    asked = save(studio, capacity="2")
    assert asked.status_code == 422
    assert not calls().overridden
    assert "Not saved yet" in text(asked)
    assert "2 busy slots must finish before the next run starts. That is by" in text(asked)
    yes = re.search(r'name="confirmed" value="(\d+)">([^<]*)<', asked.content.decode())
    assert yes is not None
    assert yes.groups() == ("2", "Save anyway: capacity 2")
    done = studio.post(PATH, fields(asked) | {"confirmed": "2"})
    assert "Capacity is now 2." in followed(done, studio)
    assert (calls().over, calls().busy) == (1, 3)


def test_a_yes_to_one_value_is_none_to_another(studio: Client, declare: Declare) -> None:
    """S4: the yes names the value it was given for."""
    declare(calls=(2, 45 * M))
    asked = save(studio, capacity="2000")
    assert "is 1,000 times the present capacity. Check the provider allows it." in text(asked)
    other = studio.post(PATH, fields(asked) | {"capacity": "20000", "confirmed": "2000"})
    assert other.status_code == 422
    assert not calls().overridden


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Enter a capacity"),
        ("  ", "Enter a capacity"),
        ("abc", "Capacity must be a number, like 20"),
        ("1_000", "Capacity must be a number, like 20"),
        ("\uff11\uff10", "Capacity must be a number, like 20"),
        ("²", "Capacity must be a number, like 20"),
        ("+5", "Capacity must be a number, like 20"),
        ("1e3", "Capacity must be a number, like 20"),
        ("1\x000", "Capacity must be a number, like 20"),
        ("5.0", "Capacity must be a whole number"),
        ("2,5", "Capacity must be a whole number"),
        ("1,00", "Capacity must be a whole number"),
        ("1,000", "Write 1000, without the comma"),
        ("100,000", "Write 100000, without the comma"),
        ("100,001", "Capacity must be between 1 and 100,000 (to hand out no slots, pause the limit)"),
        ("1,000,000", "Capacity must be between 1 and 100,000 (to hand out no slots, pause the limit)"),
        ("0", "Capacity must be between 1 and 100,000 (to hand out no slots, pause the limit)"),
        ("-1", "Capacity must be between 1 and 100,000 (to hand out no slots, pause the limit)"),
        ("100001", "Capacity must be between 1 and 100,000 (to hand out no slots, pause the limit)"),
        ("9" * 5_000, "Capacity must be between 1 and 100,000 (to hand out no slots, pause the limit)"),
        ("0" * 5_000, "Capacity must be between 1 and 100,000 (to hand out no slots, pause the limit)"),
    ],
)
def test_a_capacity_that_is_none_is_refused_with_what_would_be_right(
    studio: Client, declare: Declare, typed: str, message: str
) -> None:
    """D2, cases 32 and 38: only plain whole numbers in range; the old value stays."""
    declare(calls=(20, 45 * M))
    _refused(save(studio, capacity=typed), "capacity", typed, message)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Enter a max hold"),
        ("45", "Add a unit to the max hold: s, m, h or d, like 45m"),
        ("0", "Add a unit to the max hold: s, m, h or d, like 45m"),
        ("45 minutes", "Max hold must be a duration, like 45m, 2h or 1h30m"),
        ("45M", "Max hold must be a duration, like 45m, 2h or 1h30m"),
        ("30m1h", "Max hold must be a duration, like 45m, 2h or 1h30m"),
        ("\uff14\uff15m", "Max hold must be a duration, like 45m, 2h or 1h30m"),
        ("1.5h", "Max hold must use whole numbers, like 1h30m"),
        ("0s", "Max hold must be more than 0"),
        ("-5m", "Max hold must be more than 0"),
        ("30d1ms", "Max hold must be 30 days or less"),
        ("9" * 5_000 + "d", "Max hold must be 30 days or less"),
        ("0" * 5_000 + "s", "Max hold must be more than 0"),
    ],
)
def test_a_max_hold_that_is_none_is_refused_with_what_would_be_right(
    studio: Client, declare: Declare, typed: str, message: str
) -> None:
    """D3: the one strict grammar."""
    declare(calls=(20, 45 * M))
    _refused(save(studio, max_hold=typed), "max_hold", typed, message)


def _refused(page: Any, field: str, typed: str, message: str) -> None:
    assert page.status_code == 422
    assert title(page) == "Error: Edit calls · Studio"
    assert f"There is a problem {message}" in text(page)
    assert text(page).count(message) == 2, "in the summary and at the field"
    assert f'<a href="#id_{field}">' in page.content.decode()
    assert fields(page)[field] == typed, "what was typed is kept"
    assert 'aria-invalid="true"' in page.content.decode()
    assert not calls().overridden


@pytest.mark.parametrize("typed", ["100000", " 7 ", "007"])
def test_a_capacity_in_plain_digits_is_taken(studio: Client, declare: Declare, typed: str) -> None:
    """Case 38: blanks around typed text may be trimmed; 100,000 is accepted."""
    declare(calls=(20_000, 45 * M))
    assert save(studio, capacity=typed).status_code == 303
    assert calls().capacity.effective == int(typed)


@pytest.mark.parametrize(
    ("typed", "echo"),
    [
        ("1ms", "1 millisecond"),
        ("500ms", "500 milliseconds"),
        ("1m500ms", "1 minute 500 milliseconds"),
        ("1h1m1s", "1 hour 1 minute 1 second"),
        ("29d23h59m59s", "29 days 23 hours 59 minutes 59 seconds"),
        ("90m", "1 hour 30 minutes"),
    ],
)
def test_a_max_hold_is_echoed_to_the_last_unit(studio: Client, declare: Declare, typed: str, echo: str) -> None:
    """D3, S4: the echo is what will be stored, not about that."""
    declare(calls=(20, 45 * M))
    page = studio.post(PATH, fields(studio.get(PATH)) | {"max_hold": typed, "preview": "1"})
    assert f'id="max-hold-echo">= {echo}</p>' in page.content.decode()


def test_a_reason_that_is_too_long_or_holds_control_signs_is_refused(studio: Client, declare: Declare) -> None:
    """O7: the reason is kept for ever; what can't be kept is refused before anything changes."""
    declare(calls=(20, 45 * M))
    for reason in ("x" * 501, "a\x00b", "a\x1b[31m"):
        page = save(studio, capacity="30", reason=reason)
        assert page.status_code == 422
        assert "The reason must" in text(page)
    assert not calls().overridden


@pytest.mark.parametrize("seen", [{}, {"expected_capacity": "abc", "expected_max_hold": ""}])
def test_a_form_that_does_not_say_what_was_seen_is_taken_at_its_word(
    studio: Client, declare: Declare, seen: dict[str, str]
) -> None:
    """O1: another program's plain POST."""
    declare(calls=(20, 45 * M))
    assert studio.post(PATH, {"capacity": "30", "max_hold": "45m", **seen}).status_code == 303
    assert (calls().capacity.override, calls().max_hold.override) == (30, None)


def test_a_limit_that_left_the_config_meanwhile_saves_nothing(studio: Client, declare: Declare) -> None:
    """D8: no longer declared."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH))
    declare(other=(1, M))
    page = studio.post(PATH, mine | {"capacity": "30", "save": "1"})
    assert page.status_code == 410
    assert "This limit is no longer in stackbone_config.py. Nothing was" in text(page)
    assert not calls().overridden


def test_reading_changes_nothing_and_odd_methods_are_refused(studio: Client, declare: Declare) -> None:
    """Case 87: GET shows or is refused."""
    declare(calls=(20, 45 * M))
    engine.edit("calls", actor=BEN, capacity=30)
    before = queries.changes()
    for path in (PATH, "/limits/calls/reset/capacity/", "/limits/calls/pause/", "/limits/calls/resume/"):
        assert studio.get(path + "?capacity=5&confirmed=5").status_code == 200
        assert studio.head(path).status_code == 200
        for method in (studio.options, studio.put, studio.delete, studio.patch):
            assert method(path).status_code == 405
    assert queries.changes() == before
    assert calls().capacity.effective == 30
    assert not calls().paused


def test_a_post_without_the_forms_token_changes_nothing(studio: Client, declare: Declare) -> None:
    """Case 87: 403, nothing changes."""
    declare(calls=(20, 45 * M))
    stranger = Client(enforce_csrf_checks=True)
    for path in (PATH, "/limits/calls/reset/capacity/", "/limits/calls/pause/", "/limits/calls/resume/"):
        assert stranger.post(path, {"capacity": "30", "max_hold": "45m"}).status_code == 403
    assert not calls().overridden
    assert not calls().paused
