"""Edit limit, where somebody else was faster."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from limits import engine, queries, rules
from limits.engine import Actor
from tests.studio.editing import PATH, calls
from tests.studio.read import fields, followed, text, title

BEN = Actor(name="ben@example.com", source="cli")
M = rules.MINUTE

type Declare = Callable[..., object]


def test_the_second_of_two_editors_gets_both_values_and_decides(studio: Client, declare: Declare) -> None:
    """O7: per field, by the value each saw."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH))
    engine.edit("calls", actor=BEN, capacity=25, max_hold=60 * M)
    page = studio.post(PATH, mine | {"capacity": "30", "reason": "mine", "save": "1"})
    assert page.status_code == 409
    said = text(page)
    assert "This limit changed while you were editing. ben@example.com set capacity to 25 at" in said
    assert "Your 30 is still in the form; check and save again." in said
    assert calls().capacity.effective == 25
    again = fields(page)
    assert again == {
        "expected_capacity": "25",
        "expected_max_hold": str(60 * M),
        "capacity": "30",
        "max_hold": "1h",
        "reason": "mine",
    }, "what I touched stays mine, what I did not touch follows"
    assert studio.post(PATH, again | {"save": "1"}).status_code == 303
    assert (calls().capacity.effective, calls().max_hold.effective) == (30, 60 * M)


@pytest.mark.parametrize(
    ("field", "typed", "others"), [("capacity", "30", {"capacity": 25}), ("max_hold", "2h", {"max_hold": 60 * M})]
)
def test_a_conflict_is_told_at_its_field_in_the_words_of_the_summary(
    studio: Client, declare: Declare, field: str, typed: str, others: dict[str, int]
) -> None:
    """S6: the field is marked invalid and described by the message; what it means is still echoed."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH))
    engine.edit("calls", actor=BEN, **others)
    page = studio.post(PATH, mine | {field: typed, "save": "1"})
    said = re.findall(r"This limit changed while you were editing\..*?save again\.", text(page))
    assert len(said) == 2
    assert said[0] == said[1]
    shown = page.content.decode()
    hyphened = field.replace("_", "-")
    assert f'<p class="field-error" id="{hyphened}-error">' in shown
    (typed_into,) = re.findall(r'<input [^>]*aria-invalid="true"[^>]*>', shown)
    assert f'id="id_{field}"' in typed_into
    assert f"{hyphened}-error" in typed_into
    assert ("= 2 hours" in text(page)) is (field == "max_hold")
    assert title(page) == "Error: Edit calls · Studio"


def test_the_same_save_sent_again_is_no_conflict_with_oneself(studio: Client, declare: Declare) -> None:
    """O7, case 73: a retry, or Save after Back, meets its own work; what it adds is stored."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH)) | {"capacity": "44", "save": "1"}
    assert "Capacity is now 44." in followed(studio.post(PATH, mine), studio)
    before = queries.changes()
    again = studio.get(studio.post(PATH, mine)["Location"]).content.decode()
    assert '<div class="notice notice-success" role="status"><p>Capacity is 44 already.</p></div>' in again
    assert queries.changes() == before
    more = followed(studio.post(PATH, mine | {"max_hold": "2h"}), studio)
    assert "Capacity is 44 already. Max hold is now 2h for new slots." in more


def test_the_same_save_sent_twice_at_once_is_no_conflict_with_oneself(
    studio: Client, declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O7, case 73: the twin wins between our look and our save."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH)) | {"capacity": "44", "save": "1"}
    edit = engine.edit

    def overtaken(*args: Any, **kwargs: Any) -> Any:
        edit(*args, **kwargs)
        return edit(*args, **kwargs)

    monkeypatch.setattr(engine, "edit", overtaken)
    assert "Capacity is 44 already." in followed(studio.post(PATH, mine), studio)


def test_a_value_that_a_deploy_brought_meanwhile_is_still_asked_about(studio: Client, declare: Declare) -> None:
    """O5, O7: the same value, but no override holds it yet."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH)) | {"capacity": "44", "save": "1"}
    declare(calls=(44, 45 * M))
    assert studio.post(PATH, mine).status_code == 409
    assert not calls().overridden


def test_a_change_of_the_other_field_is_no_conflict(studio: Client, declare: Declare) -> None:
    """O7: per field."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH))
    engine.edit("calls", actor=BEN, max_hold=60 * M)
    assert studio.post(PATH, mine | {"capacity": "30", "save": "1"}).status_code == 303
    assert (calls().capacity.effective, calls().max_hold.effective) == (30, 60 * M)


def test_a_deploy_between_look_and_save_is_a_conflict_too(studio: Client, declare: Declare) -> None:
    """O7: by the value each saw, whoever changed it."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH))
    declare(calls=(25, 45 * M))
    page = studio.post(PATH, mine | {"capacity": "30", "save": "1"})
    assert page.status_code == 409
    assert "The capacity is 25 now, as declared." in text(page)


def test_a_change_in_the_very_moment_of_the_save_is_seen_by_the_engine(
    studio: Client, declare: Declare, monkeypatch: pytest.MonkeyPatch
) -> None:
    """O7: between our look and our save somebody else saves."""
    declare(calls=(20, 45 * M))
    mine = fields(studio.get(PATH))
    edit = engine.edit

    def overtaken(*args: Any, **kwargs: Any) -> Any:
        edit("calls", actor=BEN, capacity=25)
        return edit(*args, **kwargs)

    monkeypatch.setattr(engine, "edit", overtaken)
    page = studio.post(PATH, mine | {"capacity": "30", "save": "1"})
    assert page.status_code == 409
    assert "ben@example.com set capacity to 25" in text(page)
    assert fields(page)["expected_capacity"] == "25"
