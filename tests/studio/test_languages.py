"""The browser's language chooses between English and Spanish, for words, numbers and instants alike."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import polib
import pytest
from django.test import Client
from django.urls import clear_url_caches
from django.utils import translation

from limits import pool, rules
from studio import wording
from tests import scene, scene_runs
from tests.conftest import Clock
from tests.studio.read import text, title
from tests.studio.runs import alive
from tests.studio.test_catalogue import FOLDER

NOW = datetime(2026, 12, 2, 14, 32, 8, tzinfo=UTC)


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    """Leave the thread with the language it had, as the next request would."""
    yield
    translation.deactivate()


@pytest.fixture
def pages(settings: Any) -> Iterator[None]:
    settings.ROOT_URLCONF = "tests.studio.frame_pages"
    yield
    clear_url_caches()


def reader(language: str | None, **more: Any) -> Client:
    return Client(raise_request_exception=False, headers={"accept-language": language} if language else {}, **more)


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        (None, "en"),
        ("en-GB,en;q=0.9,es;q=0.8", "en"),
        ("es", "es"),
        ("es-MX,es;q=0.9,en;q=0.8", "es"),
        ("fr-FR,fr;q=0.9,es;q=0.3", "es"),
        ("fr,de;q=0.5", "en"),
        ("*", "en"),
        ("e" * 600, "en"),
    ],
)
def test_the_browsers_language_chooses(pages: None, asked: str | None, spoken: str) -> None:
    """S6: the best of the languages asked for that Studio speaks, else English."""
    answer = reader(asked).get("/page/")
    assert answer["Content-Language"] == spoken
    assert "Accept-Language" in answer["Vary"]
    assert f'<html lang="{spoken}"' in answer.content.decode()
    assert ("Ir al contenido" in text(answer)) == (spoken == "es")


def test_a_cookie_of_another_program_on_this_host_chooses_nothing(pages: None) -> None:
    """S6: cookies of one host are shared by all its ports."""
    visitor = reader("en")
    visitor.cookies["django_language"] = "es"
    assert visitor.get("/page/")["Content-Language"] == "en"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/fault/unknown/", "¿Quería decir voice-calls o voice-mail?"),
        ("/fault/undeclared/", "«old» ya no está declarado"),
        ("/fault/away/", "Studio no puede contactar con el sistema"),
        ("/fault/empty/", "El sistema aún no está preparado"),
        ("/fault/fault/", "Hay un problema con Studio"),
        ("/nowhere/", "Esa página no existe"),
        ("/act/", "Responde a POST, no a GET. No se ha cambiado nada."),
    ],
)
def test_errors_speak_the_readers_language(pages: None, path: str, said: str) -> None:
    """S6: an operator reads what went wrong."""
    answer = reader("es").get(path)
    assert answer["Content-Language"] == "es"
    assert said in text(answer)


def test_a_stranger_is_refused_in_the_strangers_language(pages: None) -> None:
    """S7: the page for a foreign address comes before any view."""
    answer = reader("es").get("/page/", headers={"host": "studio.example"})
    assert "Studio no está disponible en esta dirección" in text(answer)


def test_what_programs_read_has_no_language(pages: None) -> None:
    """S6: a style sheet or a plain answer is the same for all."""
    for path in ("/healthz", "/static/css/tokens.css"):
        answer = reader("es").get(path)
        assert answer.status_code == 200
        assert "Content-Language" not in answer
        assert "Accept-Language" not in answer.get("Vary", "")


@pytest.mark.parametrize(
    ("number", "english", "spanish"),
    [(0, "0", "0"), (999, "999", "999"), (1_000, "1,000", "1000"), (9_261, "9,261", "9261"),
     (10_000, "10,000", "10.000"), (100_000, "100,000", "100.000"), (1_234_567, "1,234,567", "1.234.567")],
)  # fmt: skip
def test_numbers_follow_the_language(number: int, english: str, spanish: str) -> None:
    """S1: thousands apart as each language writes them."""
    assert wording.grouped(number) == english
    with translation.override("es"):
        assert wording.grouped(number) == spanish


def test_instants_and_durations_follow_the_language() -> None:
    """S6: the month is a word; the units of a figure are the same letters in both languages."""
    yesterday, last_year, setting = NOW - timedelta(days=1), NOW - timedelta(days=365), rules.HOUR + 30 * rules.MINUTE
    assert wording.words(setting) == "1 hour 30 minutes"
    with translation.override("es"):
        assert wording.clock(NOW, now=NOW) == "14:32:08 UTC"
        assert wording.clock(yesterday, now=NOW) == "1 dic 14:32 UTC"
        assert wording.clock(last_year, now=NOW) == "2 dic 2025 14:32 UTC"
        assert wording.clock_full(NOW) == "2 dic 2026, 14:32:08 UTC"
        assert wording.clock_machine(NOW) == "2026-12-02T14:32:08.000Z"
        assert wording.words(setting) == "1 hora 30 minutos"
        assert wording.words(12 * rules.MINUTE) == "12 minutos"
        assert wording.duration_short(12 * rules.MINUTE) == "12m"


def test_a_capacity_typed_as_the_page_writes_it_is_asked_for_without_its_sign(studio: Client, declare: Any) -> None:
    """D2: the sign between thousands is another one in Spanish, and no more a part of a number."""
    declare(calls=(20, rules.MINUTE))
    page = reader("es").post("/limits/calls/edit/", {"capacity": "100.000", "max_hold": "1m"})
    assert page.status_code == 422
    assert "Escriba 100000, sin el punto" in text(page)


def test_no_screen_has_an_english_leftover(clock: Clock, box: pool.Database, migrated: str) -> None:
    """S6: every screen of a busy box in Spanish, and the step's name, which is data, as it is."""
    slots = scene.make(clock.advance)
    with alive(migrated, scene_runs.make(box)):
        visitor = reader("es")
        english = [each.msgid for each in polib.pofile(str(FOLDER / "django.po")) if _differs(each)]
        assert len(english) > 300
        for path in _screens(slots):
            page = visitor.get(path)
            assert page.status_code in (200, 404), path
            said = f"{title(page)} {text(page)} {' '.join(_attributes(page.content.decode()))}"
            assert [each for each in english if re.search(rf"(?<!\w){re.escape(each)}(?!\w)", said)] == [], path
        assert "Esperando hueco · voice-calls" in text(visitor.get(f"/runs/{scene_runs.WAITING}/"))
        assert "Esperando hueco · voice-calls" in text(reader("en").get(f"/runs/{scene_runs.WAITING}/"))


def test_drawings_are_the_same_in_every_language(clock: Clock, box: pool.Database) -> None:
    """S1: a coordinate is for machines, which know no comma."""
    scene.make(clock.advance)
    for path in ("/limits/", *(f"/limits/{name}/" for name in scene.LIMITS)):
        english, spanish = (_drawn(reader(language).get(path).content.decode()) for language in ("en", "es"))
        assert english == spanish != []


def test_what_came_of_an_act_is_said_in_spanish(studio: Client, declare: Any) -> None:
    """S3, S4: outcomes too, with their plurals."""
    declare(calls=(20, rules.MINUTE))
    visitor = reader("es")
    form = {"capacity": "30", "max_hold": "1m", "expected_capacity": "20", "expected_max_hold": "60000"}
    assert "La capacidad es ahora 30." in text(visitor.post("/limits/calls/edit/", form, follow=True))
    assert "calls está en pausa." in text(visitor.post("/limits/calls/pause/", {"reason": ""}, follow=True))
    assert "calls vuelve a repartir huecos." in text(visitor.post("/limits/calls/resume/", {}, follow=True))


def _differs(entry: Any) -> bool:
    return not re.search(r"%\(|\{", entry.msgid) and entry.msgid not in {entry.msgstr, *entry.msgstr_plural.values()}


def _drawn(page: str) -> list[str]:
    # How far a meter has come may differ by a moment; where things stand does not.
    return re.findall(r'<rect class="(?:bar|cell)[^>]*>', page)


def _attributes(page: str) -> list[str]:
    return re.findall(r'(?:aria-label|title|placeholder|data-(?:before|after|note|failed|copied|says))="([^"]*)"', page)


def _screens(slots: dict[str, str]) -> list[str]:
    calls = [slot for label, slot in slots.items() if label.startswith("call_")]
    return [
        *("/limits/", "/limits/?q=voicee", "/limits/?show=stuck", *(f"/limits/{name}/" for name in scene.LIMITS)),
        *("/limits/voice-calls/?q=nobody", "/limits/bulk-import/?order=expiry", "/limits/partner-api/edit/"),
        *("/limits/partner-api/reset/capacity/", "/limits/voice-calls/pause/", "/limits/sms-out/resume/"),
        *(f"/limits/voice-calls/slots/{slot}/release/" for slot in calls[:6]),
        *("/runs/", "/runs/?workflow=nothing&status=failed", "/workflows/", "/workflows/place_call/trigger/"),
        *(f"/runs/{run}/" for run in (scene_runs.WAITING, scene_runs.HOLDING, scene_runs.FAILED, scene_runs.STRANDED)),
        *(f"/runs/{run}/cancel/" for run in (scene_runs.HOLDING, scene_runs.FAILED)),
        *("/limits/voice-cals/", "/runs/nope/", "/workflows/place_cal/trigger/", "/nowhere/"),
    ]
