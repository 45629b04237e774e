"""What tests with a real browser ask for: Studio in a process of its own, and pages in it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from limits import pool
from tests import scene, scene_runs, studio_process
from tests.conftest import Clock
from tests.studio.runs import alive

THEMES = ("light", "dark")

type Open = Callable[..., Page]


@pytest.fixture(scope="session")
def studio_server(migrated: str) -> Iterator[str]:
    """Run Studio against the test database for the whole session; lend its address."""
    with studio_process.running(migrated) as address:
        yield address


@pytest.fixture
def studio_url(box: pool.Database, studio_server: str) -> str:
    """Lend the address of a running Studio over an empty box, without a slash at its end."""
    return studio_server


@pytest.fixture
def open_page(browser: Browser, studio_url: str, tmp_path: Path) -> Iterator[Open]:
    """Lend `open_page("/limits/", scripts=False, theme="dark", width=320, language="es-ES")`; `before` is a script that runs first.

    At the end no page may have broken the content security policy, asked elsewhere, or thrown an error.
    """
    contexts = []
    faults: list[str] = []

    def open_page(
        path: str,
        *,
        scripts: bool = True,
        theme: str = "system",
        width: int = 1280,
        touch: bool = False,
        language: str = "en-US",
        zone: str = "UTC",
        before: str = "",
    ) -> Page:
        context = browser.new_context(
            base_url=studio_url,
            locale=language,
            java_script_enabled=scripts,
            viewport={"width": width, "height": 800},
            has_touch=touch,
            is_mobile=touch,
            timezone_id=zone,
        )
        contexts.append(context)
        context.add_cookies([{"name": "stackbone_theme", "value": theme, "url": studio_url}])
        if before:
            context.add_init_script(before)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if "Policy" in message.text else None)
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("request", lambda asked: faults.append(asked.url) if not asked.url.startswith(studio_url) else None)
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


@pytest.fixture
def call_center(clock: Clock, studio_url: str) -> dict[str, str]:
    """Fill the box with a bad hour of a call centre; lend the slots' ids by label."""
    return scene.make(clock.advance)


@pytest.fixture
def with_runs(call_center: dict[str, str], box: pool.Database, migrated: str) -> Iterator[dict[str, str]]:
    """Add runs to the call centre, and a worker that lives."""
    with alive(migrated, scene_runs.make(box)):
        yield call_center


def scrolls_sideways(page: Page) -> bool:
    """Tell whether a page is wider than its window."""
    wide: Any = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return bool(wide)
