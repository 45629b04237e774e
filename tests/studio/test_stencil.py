"""Tables of many rows: markup is rendered once for each shape, and filled."""

from dataclasses import dataclass
from typing import Any

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.urls import reverse
from django.utils.safestring import SafeString

from studio.converters import run_path


@dataclass(frozen=True)
class Line:
    shape: Any
    text: object


def written(inside: str, *rows: Line, **context: Any) -> str:
    template = Template("{% load stencil %}{% stencil rows %}" + inside + "{% endstencil %}")
    return template.render(Context({"rows": rows, **context}))


def test_each_row_is_written_in_its_shape_and_with_its_own_text() -> None:
    """S2: rows of equal shape share their markup and nothing else."""
    rows = [Line("a", 1), Line("b", 2), Line("a", 3)]
    assert (
        written("{% if row.shape == 'a' %}[{{ row.text }}]{% else %}({{ row.text }}){% endif %}", *rows) == "[1](2)[3]"
    )


def test_a_shape_is_rendered_once() -> None:
    """S2: that is what it is for."""
    looks: list[None] = []
    written("{{ look }}{{ row.text }}", *[Line("a", n) for n in range(100)], look=lambda: looks.append(None))
    assert len(looks) == 1


@pytest.mark.parametrize("text", ['<script>alert("1")</script>', "'&<>\"", "{row.text}", "%s {} {0}", "{{ row.text }}"])
def test_a_text_stays_text(text: str) -> None:
    """Case 67: hostile texts are escaped, and no text is markup for another."""
    shown = written('<p title="{{ row.text }}">{{ row.text }}</p>', Line("a", text), Line("a", "next"))
    assert written("{{ row.text }}", Line("a", text)) == Template("{{ it }}").render(Context({"it": text}))
    assert shown.count("<") == 4
    assert shown.endswith('<p title="next">next</p>')


def test_what_is_marked_safe_is_written_as_it_is() -> None:
    """A text may be markup that a tag has made."""
    assert written("{{ row.text }}", Line("a", SafeString("<b>1</b>"))) == "<b>1</b>"


def test_a_misspelt_text_is_an_error() -> None:
    """Django alone would write nothing."""
    with pytest.raises(TemplateSyntaxError, match="a Line has no 'txet'"):
        written("{{ row.txet }}", Line("a", 1))


@pytest.mark.parametrize(
    "run_id", ["run-1", "a b", "a/b", "..", ".", "~..", "é", "a?b#c%d", "//x", "!$&'()*+,;=:@", '"<>`', "\u202e"]
)
def test_a_runs_address_is_that_of_its_page(run_id: str) -> None:
    """Case 67: whatever a run's id holds, its row leads where a link would."""
    assert reverse("run", args=["x"]).replace("x", run_path(run_id)) == reverse("run", args=[run_id])
