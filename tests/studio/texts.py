"""Finding Studio's texts in its sources: those that are marked for translation, and those that somebody forgot."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, NamedTuple

from django.utils.translation.template import templatize

ROOT: Final = Path(__file__).resolve().parents[2]
TEMPLATES: Final = sorted((ROOT / "templates").rglob("*.html"))
MODULES: Final = [
    *sorted(path for path in (ROOT / "studio").rglob("*.py") if "management" not in path.parts),
    ROOT / "limits" / "wording.py",
]

_MARKS: Final = {"gettext": "m", "gettext_lazy": "m", "_": "m", "said": "m", "pgettext": "cm", "pgettext_lazy": "cm",
                 "ngettext": "mp", "said_of": "mp", "npgettext": "cmp"}  # fmt: skip
"""What stands in which argument: a context, a message, its plural."""
# What these say is for programs, for the log, or for whoever starts Studio; no page shows it.
_UNSHOWN: Final = {"BadRequest", "ImproperlyConfigured", "ValueError", "TemplateSyntaxError"}
_SHOWN_ATTRIBUTES: Final = {"aria-label", "title", "placeholder", "alt"}
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_WORDS: Final = re.compile(r"[a-z]{2,}[,.;:]? [a-z]{2,}|^[A-Z][a-z]{2,}[.:…]? ?$")
"""Two words, or one with a capital letter: no key, name of a template or class of CSS looks like that."""


class Text(NamedTuple):
    """A text as the catalogue holds it."""

    context: str | None
    message: str
    plural: str | None


def marked() -> set[Text]:
    """Return every text of templates and modules that is marked for translation."""
    found = {text for path in MODULES for text in _calls(ast.parse(path.read_text()))}
    for path in TEMPLATES:
        code = templatize(path.read_text(), origin=str(path))
        for call in re.findall(
            r"""\b\w*gettext\((?:u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?:, )?)+|\b_\([^()]*""", code
        ):
            found |= set(_calls(ast.parse(f"{call.rstrip(', ')})")))
    return found


def unmarked_in_template(source: str) -> list[str]:
    """Return the words of a template that nothing translates."""
    source = re.sub(
        r"\{% blocktranslate.*?endblocktranslate %\}|\{% comment.*?endcomment %\}", "", source, flags=re.DOTALL
    )
    tags = re.findall(r"\{%.*?%\}|\{\{.*?\}\}", source)
    page = _Page()
    page.feed(re.sub(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", "", source))
    return page.words + [text for tag in tags for text in _literals(tag)]


def unmarked_in_module(source: str) -> list[str]:
    """Return the texts of a module that read like words for a page, though nothing translates them."""
    tree = ast.parse(source)
    passed = {id(part) for node in ast.walk(tree) for skipped in _unshown(node) for part in ast.walk(skipped)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed
        if _WORDS.search(re.sub(r'<[^>]*>?|\{\w*\}|^[^<]*">', "", node.value))
    ]


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.code += tag in ("code", "pre", "kbd")
        # What the data of an element says begins with a letter that no name of a thing begins with.
        shown = [
            v for k, v in attrs if k in _SHOWN_ATTRIBUTES or (k.startswith("data-") and re.match("[A-Z]|.* ", v or ""))
        ]
        self.words += [value for value in shown if value and _WORD.search(value)]

    def handle_endtag(self, tag: str) -> None:
        self.code -= tag in ("code", "pre", "kbd")

    def handle_data(self, data: str) -> None:
        # A partial may hold attributes alone.
        if not self.code and '="' not in data and _WORD.search(data):
            self.words.append(data.strip())


def _literals(tag: str) -> list[str]:
    if re.match(r"\{% (translate|load|include|extends|if|elif)\b", tag):
        return []
    return re.findall(r"""["']([A-Z][a-z][^"']*|[^"']*[a-z] [a-z][^"']*)["']""", re.sub(r"_\([^)]*\)", "", tag))


def _calls(tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MARKS:
            kinds = _MARKS[node.func.id]
            given = {
                kind: each.value for kind, each in zip(kinds, node.args, strict=False) if isinstance(each, ast.Constant)
            }
            if "m" in given:
                yield Text(given.get("c"), given["m"], given.get("p"))


def _unshown(node: ast.AST) -> list[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant() as docstring):
            return [docstring]
        case ast.Subscript(slice=key):
            return [key]
        case ast.keyword(arg="where" | "samesite", value=value):
            return [value]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log"))):
            return [*node.args]
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in {*_MARKS, *_UNSHOWN}:
            return [*node.args, *node.keywords]
        case _:
            return []
