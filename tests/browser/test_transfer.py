"""S1: what a first visit transfers, as the browser itself counts it."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from limits import pool, rules
from tests.studio.conftest import Ask, ask

BYTES_MAX = 250_000
"""Page, stylesheets, scripts, fonts and icon together, as they come over the wire."""

__all__ = ["ask"]


@pytest.mark.parametrize("path", ["/limits/", "/limits/calls/"])
def test_a_first_visit_is_light_and_asks_one_host(
    browser: Browser, studio_url: str, box: pool.Database, declare: Any, ask: Ask, path: str
) -> None:
    """S1: under 250 KB with nothing kept from before, fonts included, and no word to anybody else."""
    declare(calls=(30, 45 * rules.MINUTE), **{f"limit-{number:03}": (20, rules.HOUR) for number in range(150)})
    for number in range(60):
        ask("calls", f"call-{number}", run=f"run-{number}")
    context = browser.new_context(base_url=studio_url)
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.send("Network.setCacheDisabled", {"cacheDisabled": True})
    hosts: set[str] = set()
    kinds: set[str] = set()
    wire: list[float] = []

    def asked(event: dict[str, Any]) -> None:
        hosts.add(urlsplit(event["request"]["url"]).netloc)
        kinds.add(event["type"])

    devtools.on("Network.requestWillBeSent", asked)
    devtools.on("Network.loadingFinished", lambda event: wire.append(event["encodedDataLength"]))
    page.goto(path, wait_until="networkidle")
    page.evaluate("document.fonts.ready.then(() => true)")
    context.close()
    assert hosts == {urlsplit(studio_url).netloc}
    # Whoever measures nothing finds everything light.
    assert {"Document", "Stylesheet", "Script", "Font"} <= kinds
    assert 60_000 < sum(wire) < BYTES_MAX
