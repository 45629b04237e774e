"""S6: every screen in Spanish, whose words are longer: read by axe, and measured at a desk's width and a phone's."""

import pytest
from django.utils import translation
from playwright.sync_api import expect

from studio import wording
from tests.browser.conftest import Open, scrolls_sideways
from tests.browser.test_runs import SCREENS
from tests.browser.test_screens import check, screens

SPANISH = "es-ES"


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 375)])
def test_no_spanish_screen_has_a_barrier_or_scrolls_sideways(
    open_page: Open, with_runs: dict[str, str], theme: str, width: int
) -> None:
    """S6: WCAG 2.2 AA in both languages; nothing overflows."""
    page = open_page("/limits/", theme=theme, width=width, language=SPANISH)
    for name, path in {**screens(with_runs), **SCREENS}.items():
        page.goto(path)
        assert page.locator("html").get_attribute("lang") == "es"
        check(page, name)


@pytest.mark.parametrize("width", [1280, 375])
def test_the_edit_form_speaks_spanish_in_each_of_its_states(
    open_page: Open, call_center: dict[str, str], width: int
) -> None:
    """S4, S6: refused, previewed, warned."""
    page = open_page("/limits/voice-calls/edit/", width=width, language=SPANISH, scripts=False)
    page.get_by_label("Capacidad").fill("5.0")
    page.get_by_role("button", name="Guardar cambios").click()
    expect(page.locator("#errors")).to_contain_text("La capacidad debe ser un número entero")
    assert not scrolls_sideways(page)
    page.get_by_label("Capacidad").fill("30")
    page.get_by_role("button", name="Vista previa").click()
    expect(page.locator("#preview")).to_contain_text("Qué pasará")
    assert not scrolls_sideways(page)
    page.get_by_label("Capacidad").fill("2")
    page.get_by_role("button", name="Guardar cambios").click()
    expect(page.get_by_role("button", name="Guardar de todos modos: capacidad 2")).to_be_visible()
    assert not scrolls_sideways(page)


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_page_writes_numbers_as_a_browser_does(open_page: Open, language: str) -> None:
    """S5: a count that a script writes looks like the one that the server wrote."""
    numbers = [0, 999, 1_000, 9_999, 10_000, 100_000, 1_234_567]
    written = "([numbers, at]) => numbers.map(each => new Intl.NumberFormat(at).format(each))"
    with translation.override(language):
        assert open_page("/healthz").evaluate(written, [numbers, language]) == [wording.grouped(n) for n in numbers]
