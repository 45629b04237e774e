"""Reading what a page or a sentence says, as a person does: its text, without tags, with single blanks."""

import html
import re
from typing import Any

from django.http import HttpResponse
from django.test import Client


def text(markup: str | HttpResponse) -> str:
    """Return the visible words of markup or of a page's body, as a browser without scripts shows them."""
    written = markup if isinstance(markup, str) else markup.content.decode()
    written = re.sub(r"<(script|style|title|dialog|template)\b.*?</\1>", " ", written, flags=re.DOTALL)
    written = re.sub(r'<(button|details) [^>]*class="[^"]*\bscripted\b.*?</\1>', "", written, flags=re.DOTALL)
    # A tag stands between words only where the page would break them: cells, items, paragraphs.
    written = re.sub(
        r"</?(p|td|th|tr|li|h\d|div|dt|dd|section|table|form|ul|dl|nav|header|main|button)\b[^>]*>", " ", written
    )
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", written)).split())


def title(page: HttpResponse) -> str:
    """Return the page's title."""
    found = re.search(r"<title>(.*?)</title>", page.content.decode(), flags=re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def fields(page: Any) -> dict[str, str]:
    """Return what the page's form would send, as a browser reads it."""
    form = re.search(r'<form class="form".*?</form>', page.content.decode(), flags=re.DOTALL)
    assert form is not None
    found = re.findall(r'<input [^>]*name="([^"]*)"[^>]*?value="([^"]*)"', form[0])
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def followed(page: Any, studio: Client) -> str:
    """Return what the limit's page says, to which every change of `calls` leads."""
    assert page.status_code == 303
    assert page["Location"] == "/limits/calls/"
    return text(studio.get(page["Location"]))
