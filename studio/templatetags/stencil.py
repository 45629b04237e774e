"""Tables of many rows: markup is rendered once for each shape of row, and then filled. `{% load stencil %}`.

A page of slots has two hundred rows that differ in their texts, and hardly in their markup. To render the markup for
every row anew would take ten times as long as all the rest of the page.
"""

import html
import secrets
from collections.abc import Hashable, Iterable
from typing import Any, Final, Protocol

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.utils.safestring import SafeString

register = template.Library()

# Letters and digits, so that it passes through an address unchanged; random, so that nobody's text holds it.
_MARK: Final = f"gap{secrets.token_hex(8)}"


class Row(Protocol):
    """What a stencil takes: a shape, and any number of texts as attributes."""

    @property
    def shape(self) -> Hashable:
        """All that decides about the markup of the row; rows of equal shape have the same markup."""


@register.tag
def stencil(parser: Parser, token: Token) -> "Stencil":
    """Write `{% stencil rows %}…{% endstencil %}`: what is inside, for each row.

    Inside, `row.shape` may decide about anything, while any other attribute of `row` is a text that is filled in
    afterwards: escaped, if it is not marked safe, and out of reach for filters and conditions.
    """
    _, rows = token.split_contents()
    inside = parser.parse(("endstencil",))
    parser.delete_first_token()
    return Stencil(parser.compile_filter(rows), inside)


class Stencil(template.Node):
    """The tag as compiled."""

    child_nodelists = ("nodelist",)

    def __init__(self, rows: FilterExpression, nodelist: NodeList) -> None:
        self.rows = rows
        self.nodelist = nodelist

    def render(self, context: template.Context) -> SafeString:
        """Render what is inside once for each shape, and fill it for each row."""
        rows: Iterable[Row] = self.rows.resolve(context)
        stencils: dict[Hashable, list[str]] = {}
        written: list[str] = []
        for row in rows:
            shape = row.shape
            if shape not in stencils:
                with context.push(row=_Gaps(row)):
                    stencils[shape] = self.nodelist.render(context).split(_MARK)
            filled = stencils[shape].copy()
            # Markup and names of texts by turns.
            texts = {name: _escaped(getattr(row, name)) for name in {*filled[1::2]}}
            filled[1::2] = [texts[name] for name in filled[1::2]]
            written += filled
        return SafeString("".join(written))


class _Gaps:
    """Stands in for a row while its markup is rendered."""

    def __init__(self, row: Row) -> None:
        self._row = row

    def __getitem__(self, name: str) -> Any:
        if name == "shape":
            return self._row.shape
        if not hasattr(self._row, name):
            # Django would write nothing for a name that is misspelt.
            raise template.TemplateSyntaxError(f"stencil: a {type(self._row).__name__} has no {name!r}")
        return SafeString(f"{_MARK}{name}{_MARK}")


def _escaped(text: object) -> str:
    return text if isinstance(text, SafeString) else html.escape(str(text))
