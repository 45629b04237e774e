"""Starting a run from a form that is made from the workflow's input schema."""

import re
import uuid
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from stackbone import runs
from studio import inputs
from tests.studio.read import text
from tests.studio.runs import CALL, LINES, alive, know

PATH = "/workflows/place_call/trigger/"
FULL = {
    "in-call_id": "call-7",
    "in-tries": "5",
    "in-rate": "2",
    "in-record": "true",
    "in-queue": '"slow"',
    "in-note": "",
}


def started(page: Any) -> Any:
    """Return the input of the run to whose page an answer leads."""
    assert page.status_code == 303
    run = runs.run(page["Location"].removeprefix("/runs/").removesuffix("/"))
    assert run is not None
    return run.input


def named(page: Any) -> dict[str, str]:
    found = re.search(r'name="run_id" value="([0-9a-f-]{36})"', page.content.decode())
    assert found is not None
    return {"run_id": found[1]}


def test_the_list_marks_what_no_live_worker_knows(studio: Client, migrated: str) -> None:
    """Q8: it can be triggered still, and waits."""
    assert "No workflows yet" in text(studio.get("/workflows/"))
    know("old_call")
    with alive(migrated, know("place_call")):
        page = studio.get("/workflows/")
        assert "No live worker" not in text(studio.get(PATH))
    assert "old_call No live worker knows it" in text(page)
    assert text(page).count("No live worker") == 1
    assert f'href="{PATH}"' in page.content.decode()
    assert "A run waits until a worker knows it" in text(studio.get(PATH))


def test_each_simple_property_is_a_field_with_its_default(studio: Client) -> None:
    """S6: labelled, described, the required ones marked, without JavaScript."""
    know("place_call")
    page = studio.get(PATH)
    said, markup = text(page), page.content.decode()
    assert "call_id (required) The provider's id." in said
    assert "tries (optional)" in said
    assert 'name="in-tries" value="3"' in markup
    assert 'name="in-rate" value="1.5"' in markup
    assert re.search(r'type="checkbox"[^>]* name="in-record" value="true" checked', markup)
    assert '<option value="&quot;fast&quot;" selected>fast</option>' in markup


def test_a_good_form_starts_a_run_with_values_of_their_types(studio: Client) -> None:
    """The input is JSON, not text; what is left empty is left out."""
    know("place_call")
    page = studio.post(PATH, FULL)
    assert started(page) == {"call_id": "call-7", "tries": 5, "rate": 2, "record": True, "queue": "slow"}
    assert "The run was started." in text(studio.get(page["Location"]))
    assert started(studio.post(PATH, {"in-call_id": "x"})) == {"call_id": "x", "record": False}


@pytest.mark.parametrize(
    ("field", "typed", "said"),
    [
        ("call_id", "", "Enter call_id"),
        ("tries", "5.0", "tries must be a whole number, like 20"),
        ("tries", "9" * 5_000, "tries must be a whole number, like 20"),
        ("rate", "1e999", "rate must be a number, like 2.5"),
        ("rate", "nan", "rate must be a number, like 2.5"),
        ("queue", '"other"', "Choose queue from the list"),
    ],
)
def test_a_value_that_is_none_is_refused_at_its_field(studio: Client, field: str, typed: str, said: str) -> None:
    """Bad input starts nothing; what was typed and the run's name are kept."""
    know("place_call")
    form = FULL | named(studio.get(PATH)) | {f"in-{field}": typed}
    page = studio.post(PATH, form)
    assert page.status_code == 422
    assert text(page).count(said) == 2, "in the summary and at the field"
    assert text(page).index("There is a problem") < text(page).index(said)
    assert named(page) == {"run_id": form["run_id"]}
    assert 'value="call-7"' in page.content.decode() or field == "call_id"
    if field in ("tries", "rate"):
        assert f'value="{typed}"' in page.content.decode()
    assert runs.runs().items == []


def test_what_the_schema_refuses_stands_at_its_field(studio: Client) -> None:
    """The schema is the rule; the form only helps to keep it."""
    know("place_call", schema={"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}})
    page = studio.post(PATH, {"in-n": "10"})
    assert page.status_code == 422
    assert text(page).count("10 is greater than the maximum of 9") == 2
    assert 'aria-invalid="true"' in page.content.decode()


def test_sent_twice_it_starts_one_run(studio: Client) -> None:
    """A double click, a reload: the form names its run beforehand."""
    know("place_call")
    form = FULL | named(studio.get(PATH))
    first, second = studio.post(PATH, form), studio.post(PATH, form)
    assert first["Location"] == second["Location"] == f"/runs/{form['run_id']}/"
    assert len(runs.runs().items) == 1
    assert "That form was sent before." in text(studio.get(second["Location"]))
    assert named(studio.get(PATH)) != named(studio.get(PATH))


@pytest.mark.parametrize("run_id", ["", "x", "../x", "\0", str(uuid.uuid4()).upper()])
def test_a_name_that_no_form_made_is_not_taken(studio: Client, run_id: str) -> None:
    """The run gets another one."""
    know("place_call")
    assert studio.post(PATH, FULL | {"run_id": run_id})["Location"] != f"/runs/{run_id}/"
    assert len(runs.runs().items) == 1


@pytest.mark.parametrize("schema", [LINES, {}, {"type": "string"}, {"$ref": "#/$defs/x", "$defs": {"x": CALL}}])
def test_anything_else_is_one_field_for_json(studio: Client, schema: dict[str, Any]) -> None:
    """Nested, lists, unions, no object."""
    know("place_call", schema=schema)
    assert "Input (JSON)" in text(studio.get(PATH))


def test_json_is_read_checked_and_kept_as_typed(studio: Client) -> None:
    """A fault names its place."""
    know("place_call", schema=LINES)
    assert started(studio.post(PATH, {"in-input": '{"lines": [1, 2]}'})) == {"lines": [1, 2]}
    page = studio.post(PATH, {"in-input": '{"lines": ["<b>"]}'})
    assert page.status_code == 422
    assert "input.lines.0: '<b>' is not of type 'integer'" in text(page)
    assert escape('{"lines": ["<b>"]}') in page.content.decode()


@pytest.mark.parametrize(
    "typed", ["", "{", "NaN", "[1e999]", "-Infinity", "9" * 5_000, "[" * 100_000, "[" * 200 + "]" * 200, "\0"]
)
def test_odd_json_is_refused(studio: Client, typed: str) -> None:
    """Never a server error."""
    know("place_call", schema={})
    page = studio.post(PATH, {"in-input": typed})
    assert page.status_code == 422
    assert "Input must " in text(page)
    assert runs.runs().items == []


@pytest.mark.parametrize("typed", [r'"\u0000"', r'"\ud800"', "1e300", "null", '"</textarea><script>"'])
def test_odd_values_of_json_are_taken(studio: Client, typed: str) -> None:
    """JSON is JSON; its run can be looked at."""
    know("place_call", schema={})
    page = studio.post(PATH, {"in-input": typed})
    assert page.status_code == 303
    assert studio.get(page["Location"]).status_code == 200


def test_an_unknown_workflow_offers_near_ones(studio: Client) -> None:
    """A slip in the address."""
    know("place_call")
    for method in (studio.get, studio.post):
        page = method("/workflows/place_cal/trigger/")
        assert page.status_code == 404
        assert "No worker knows a workflow “place_cal”" in text(page)
        assert "Did you mean place_call?" in text(page)


@pytest.mark.parametrize(
    "described",
    [
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": "object"},
        {"type": ["string", "null"]},
        {"$ref": "#/$defs/missing"},
        True,
    ],
)
def test_a_property_that_is_not_simple_makes_the_whole_form_json(described: Any) -> None:
    """Half a form would be none."""
    form = inputs.form({"type": "object", "properties": {"a": {"type": "string"}, "b": described}})
    assert [field.kind for field in form.fields] == ["json"]


def test_a_definition_of_choices_is_a_field() -> None:
    """An enumeration stands among the schema's own definitions."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/E"}}, "$defs": {"E": {"enum": [1, "b"]}}}
    assert [choice.word for choice in inputs.form(schema).fields[0].choices] == ["1", "b"]
