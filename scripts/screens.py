"""Photograph Studio's screens, in both themes, over a box with realistic data; usage: screens.py [FOLDER] [WIDTH…].

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
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from limits import pool  # noqa: E402
from tests import scene, scene_runs, studio_process  # noqa: E402
from tests.chromium import launch_arguments  # noqa: E402
from tests.postgres import DATABASE, SERVER  # noqa: E402
from tests.studio.runs import alive  # noqa: E402

os.environ["DJANGO_SETTINGS_MODULE"] = "studio.settings"
THEMES: Final = ("light", "dark")


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
            for name, path in _screens(ids).items():
                for theme in THEMES:
                    for width in widths:
                        suffix = "" if len(widths) == 1 else f"-{width}"
                        _photograph(browser, studio + path, folder / f"{name}-{theme}{suffix}.png", theme, width)
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


def _screens(ids: dict[str, str]) -> dict[str, str]:
    slot = next(slot_id for label, slot_id in ids.items() if label.startswith("call_"))
    return {
        "limits": "/limits/",
        "limit": "/limits/voice-calls/",
        "edit": "/limits/partner-api/edit/",
        "release": f"/limits/voice-calls/slots/{slot}/release/",
        "runs": "/runs/",
        "run": f"/runs/{scene_runs.WAITING}/",
        "cancel": f"/runs/{scene_runs.HOLDING}/cancel/",
        "workflows": "/workflows/",
        "trigger": "/workflows/place_call/trigger/",
    }


def _photograph(browser: Browser, address: str, file: Path, theme: str, width: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        java_script_enabled=False,
        locale=os.environ.get("STACKBONE_SCREENS_LANGUAGE", "en"),
    )
    context.add_cookies([{"name": "stackbone_theme", "value": theme, "url": address}])
    page = context.new_page()
    page.goto(address)
    page.screenshot(path=file, full_page=True)
    context.close()


if __name__ == "__main__":
    main(
        Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "screens"), [int(w) for w in sys.argv[2:]] or [1280]
    )
