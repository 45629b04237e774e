"""The Spanish catalogue holds every text of Studio, and says the same with the same places for values."""

import re
from collections import Counter

import polib
import pytest
from polib import POEntry

from tests.studio.texts import ROOT, Text, marked

FOLDER = ROOT / "studio" / "locale" / "es" / "LC_MESSAGES"
ENTRIES = list(polib.pofile(str(FOLDER / "django.po")))
PLACES = re.compile(r"%\(\w+\)s|\{\w*\}|<[^>]*>|&\w+;")


def said(entry: POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_the_catalogue_holds_the_texts_of_studio_and_no_others() -> None:
    """S6: whoever adds a text sees here that `make messages` and a translation are due."""
    held = {Text(each.msgctxt, each.msgid, each.msgid_plural or None) for each in ENTRIES}
    assert held == marked()


def test_every_text_is_translated_with_the_same_places() -> None:
    """S6: no English leftover, no value lost, no markup changed, no quote that would end an attribute."""
    assert [entry.msgid for entry in ENTRIES if entry.fuzzy or not translated(entry)] == []


def translated(entry: POEntry) -> bool:
    texts, originals = said(entry), [entry.msgid, *([entry.msgid_plural] if entry.msgid_plural else [])]
    return len(texts) == len(originals) and all(map(_alike, texts, originals))


def _alike(text: str, original: str) -> bool:
    return (
        bool(text.strip())
        and Counter(PLACES.findall(text)) == Counter(PLACES.findall(original))
        and '"' not in PLACES.sub("", text)
        # A sentence stays a sentence, a question a question, a word a word.
        and (text[-1] in ".?…:") == (original[-1] in ".?…:")
    )


@pytest.mark.parametrize(
    "text", ["", "{n} ejecuciones", "{number} ejecuciones.", '{n} "ejecuciones".', "<b>{n}</b> ejecuciones."]
)
def test_the_check_of_translations_sees_what_it_is_for(text: str) -> None:
    """The check can fail."""
    assert not translated(POEntry(msgid="{n} runs.", msgstr=text))
    assert translated(POEntry(msgid="{n} runs.", msgstr="{n} ejecuciones."))


def test_what_studio_reads_is_what_translators_write() -> None:
    """The compiled catalogue is committed, so that nobody needs GNU gettext to start Studio."""
    read = {(each.msgctxt, each.msgid): said(each) for each in polib.mofile(str(FOLDER / "django.mo"))}
    assert read == {(each.msgctxt, each.msgid): said(each) for each in ENTRIES}
