"""Nothing that Studio says escapes its translation."""

from pathlib import Path

import pytest

from tests.studio.texts import MODULES, ROOT, TEMPLATES, unmarked_in_module, unmarked_in_template

UNREAD = {"private, no-cache", "Stencil"}
"""What only a browser reads, or only Python."""

NAMES = {"Studio", "Studio · Studio", "Stackbone"}
"""The same in every language."""

SETTINGS = {"settings.py", "environment.py"}
"""They speak to whoever starts Studio."""


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_template_says_anything_untranslated(template: Path) -> None:
    """S6: every word of a page is in the reader's language."""
    assert [text for text in unmarked_in_template(template.read_text()) if text not in NAMES] == []


@pytest.mark.parametrize(
    "module", [path for path in MODULES if path.name not in SETTINGS], ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_module_says_anything_untranslated(module: Path) -> None:
    """S6: what a view answers is in the reader's language too."""
    assert [text for text in unmarked_in_module(module.read_text()) if text not in UNREAD] == []


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("<p>Hello</p>", ["Hello"]),
        ('<p title="A hint">{{ x }}</p>', ["A hint"]),
        ('<p data-failed="Not done.">–</p>', ["Not done."]),
        ('{{ x|default:"Plain client" }}', ["Plain client"]),
        ('{% with word="Limit" %}{% endwith %}', ["Limit"]),
        ('<p data-key="name">{% translate "Hello" %}{% blocktranslate %}Hello{% endblocktranslate %}</p>', []),
        ('<code>stackbone dev</code>{% with word=_("Limit") %}{# a note #}{{ x }}{% endwith %}', []),
    ],
)
def test_the_check_of_templates_sees_what_it_is_for(template: str, found: list[str]) -> None:
    """The check can fail."""
    assert unmarked_in_template(template) == found


@pytest.mark.parametrize(
    ("module", "found"),
    [
        ('x = f"Released {what}."', ["Released "]),
        ('x = format_html("{} runs wait", n)', ["{} runs wait"]),
        ('x = Filter(word="All")', ["All"]),
        ('x = gettext("Released {what}.")', []),
        ('"""A docstring."""\nlog.info("a line for the log")\nraise ValueError("for programs alone")', []),
        ('x = {"status": "limits/index.html", "max_hold": "<p>{}</p>"}', []),
    ],
)
def test_the_check_of_modules_sees_what_it_is_for(module: str, found: list[str]) -> None:
    """The check can fail."""
    assert unmarked_in_module(module) == found
