"""Templates and static files keep to what the strict policy and the fonts allow."""

import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SHEETS = sorted((ROOT / "static/css").glob("*.css"))
FONTS = sorted((ROOT / "static/fonts").glob("*.woff2"))
UNDRAWN = "→←↑↓≤≥∞✓✔✗⚠▲▼●○◆◇■□▾×"
"""Signs that the fonts' latin files lack; × they have, but it is no letter x."""


class Inline(HTMLParser):
    """Collects what a policy without 'unsafe-inline' would block, and addresses on other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.found += [f"{tag} {name}" for name in values if name == "style" or name.startswith("on")]
        self.found += [f"{tag} {value}" for value in values.values() if value and "javascript:" in value.lower()]
        self.found += [
            f"{tag} {values[name]}"
            for name in ("src", "href", "action")
            if re.match(r"(https?:)?//", values.get(name) or "")
        ]
        if tag == "style" or (tag == "script" and "src" not in values):
            self.found.append(f"inline {tag}")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("template", TEMPLATES, ids=name)
def test_no_template_holds_inline_script_style_or_foreign_addresses(template: Path) -> None:
    """S6: what the policy would block is never written."""
    page = Inline()
    page.feed(template.read_text())
    assert page.found == []


def test_the_check_of_templates_sees_what_it_is_for() -> None:
    """S6: a check that finds nothing anywhere proves nothing."""
    page = Inline()
    page.feed('<p style="x" onclick="y"><script>z</script><style></style><a href="//a.example/">')
    assert page.found == ["p style", "p onclick", "inline script", "inline style", "a //a.example/"]


@pytest.mark.parametrize("template", TEMPLATES, ids=name)
def test_no_template_types_a_sign_the_fonts_lack_or_switches_escaping_off(template: Path) -> None:
    """S6: a missing glyph would come from another font; labels are hostile text."""
    # A tab's title is written by the browser, in a font of its own.
    text = re.sub(r"{% block title %}.*{% endblock %}|data-title=\"[^\"]*\"", "", template.read_text())
    assert [sign for sign in UNDRAWN if sign in text] == []
    assert "|safe" not in text
    assert "autoescape off" not in text


@pytest.mark.parametrize("sheet", SHEETS, ids=name)
def test_stylesheets_stay_short_and_name_colours_only_through_tokens(sheet: Path) -> None:
    """S6: a colour written elsewhere would escape the theme and the contrast test."""
    text = sheet.read_text()
    assert len(text.splitlines()) < 400
    assert "@import" not in text
    if sheet.name != "tokens.css":
        assert re.findall(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", text) == []


def test_every_token_used_is_defined() -> None:
    """S6: a misspelt token would fall back to black on black."""
    text = "".join(sheet.read_text() for sheet in SHEETS)
    assert set(re.findall(r"var\(--([a-z0-9-]+)\)", text)) <= set(re.findall(r"--([a-z0-9-]+):", text))


@pytest.mark.parametrize("font", FONTS, ids=name)
def test_the_fonts_are_the_ones_that_were_taken_in(font: Path) -> None:
    """Third-party files are pinned by their hash."""
    listed = (ROOT / "static/fonts/README.md").read_text()
    assert f"| {font.name} | {hashlib.sha256(font.read_bytes()).hexdigest()} |" in listed
