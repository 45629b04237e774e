"""Photograph Studio's screens and their states, in both themes, over a box with realistic data; usage: screens.py [FOLDER] [WIDTH…].

The language is that of STACKBONE_SCREENS_LANGUAGE, by default English.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import django  # noqa: E402
import psycopg  # noqa: E402
from django.core.management import call_command  # noqa: E402
from playwright.sync_api import Browser, Page, sync_playwright  # noqa: E402

from limits import pool  # noqa: E402
from tests import scene, scene_runs, studio_process  # noqa: E402
from tests.chromium import launch_arguments  # noqa: E402
from tests.postgres import DATABASE, SERVER  # noqa: E402
from tests.studio.runs import alive  # noqa: E402

os.environ["DJANGO_SETTINGS_MODULE"] = "studio.settings"
THEMES: Final = ("light", "dark")

type Act = Callable[[Page], object]
"""What is done on a page before it is photographed."""


def main(folder: Path, widths: list[int]) -> None:
    """Make the box, run Studio on it, and write `<screen>-<theme>[-<width>].png`."""
    SERVER.start()
    try:
        with psycopg.connect(SERVER.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{DATABASE}"')
        django.setup()
        call_command("migrate", verbosity=0)
        database = pool.configure(SERVER.url())
        ids = scene.make(_advance(database))
        worker = scene_runs.make(database)
        folder.mkdir(parents=True, exist_ok=True)
        with (
            alive(SERVER.url(), worker),
            studio_process.running(SERVER.url()) as studio,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(**launch_arguments())
            for name, (path, act) in _screens(ids).items():
                for theme in THEMES:
                    for width in widths:
                        suffix = "" if len(widths) == 1 else f"-{width}"
                        _photograph(browser, studio + path, act, folder / f"{name}-{theme}{suffix}.png", theme, width)
            browser.close()
    finally:
        pool.default().close()
        SERVER.remove()


def _advance(database: pool.Database) -> Callable[[int], None]:
    def advance(milliseconds: int) -> None:
        database.fetch(
            "INSERT INTO limits.clock_shift AS now (id, shift) VALUES (true, %s)"
            " ON CONFLICT (id) DO UPDATE SET shift = now.shift + excluded.shift RETURNING shift",
            [milliseconds],
        )

    return advance


def _screens(ids: dict[str, str]) -> dict[str, tuple[str, Act]]:
    slot = next(slot_id for label, slot_id in ids.items() if label.startswith("call_"))
    release = f"#release-{slot}"
    pages = {
        "limits": "/limits/",
        "limits-over": "/limits/?show=over",
        "limits-no-match": "/limits/?q=voicee",
        "limit": "/limits/voice-calls/",
        "limit-overdue": "/limits/partner-api/",
        "limit-paused": "/limits/sms-out/",
        "limit-day": "/limits/voice-calls/?range=24h",
        "edit": "/limits/partner-api/edit/",
        "release": f"/limits/voice-calls/slots/{slot}/release/",
        "runs": "/runs/",
        "run": f"/runs/{scene_runs.WAITING}/",
        "cancel": f"/runs/{scene_runs.HOLDING}/cancel/",
        "workflows": "/workflows/",
        "trigger": "/workflows/place_call/trigger/",
        "not-found": "/limits/voice-cals/",
    }
    states: dict[str, tuple[str, Act]] = {
        "state-dialog": ("/limits/voice-calls/", lambda page: _open_dialog(page, release)),
        "state-panel": ("/limits/voice-calls/", _open_panel),
        "state-help": ("/limits/", _open_help),
        "state-on-hold": (
            "/limits/voice-calls/",
            lambda page: page.get_by_role("button", name="Pause", exact=True).click(),
        ),
        "state-reconnecting": ("/limits/voice-calls/", lambda page: _lose(page, 0)),
        "state-polling": ("/limits/voice-calls/", lambda page: _lose(page, 31)),
        "state-stale": ("/limits/voice-calls/", lambda page: _lose(page, 60)),
    }
    return {name: (path, _nothing) for name, path in pages.items()} | states


def _nothing(page: Page) -> None:
    pass


def _open_dialog(page: Page, opener: str) -> None:
    page.locator(opener).click()
    page.locator("#dialog[open]").wait_for()


def _open_help(page: Page) -> None:
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()


def _open_panel(page: Page) -> None:
    page.locator("#edit").click()
    page.locator("[name=capacity]").fill("12")
    page.locator("#preview", has_text="must finish").wait_for()


def _lose(page: Page, seconds: int) -> None:
    """Cut the page off, and let so much time pass."""
    page.clock.install()
    page.route_web_socket("**/ws/**", lambda socket: socket.close())
    page.reload()
    if seconds > 45:
        page.route("**/live/**", lambda route: route.abort())
    page.locator("#live[data-state=reconnecting]").wait_for()
    for _ in range(seconds):
        page.clock.run_for(1_000)


def _photograph(browser: Browser, address: str, act: Act, file: Path, theme: str, width: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        locale=os.environ.get("STACKBONE_SCREENS_LANGUAGE", "en"),
        timezone_id="UTC",
    )
    context.add_cookies([{"name": "stackbone_theme", "value": theme, "url": address}])
    page = context.new_page()
    page.goto(address)
    if page.locator("body[data-fragment]").count():
        page.locator("#live[data-state=live]").wait_for()
    act(page)
    # What is open at the moment stands over a window, not over a whole page.
    page.screenshot(path=file, full_page=act is _nothing)
    context.close()


if __name__ == "__main__":
    main(
        Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "screens"), [int(w) for w in sys.argv[2:]] or [1280]
    )
