"""`python -m benchmarks.live`: from a commit to the changed pixel, with one open screen and with 200.

A change is made by this process; Studio is another, the browser a third. One real browser shows the list; the other
screens are sockets that ask for what a page asks for and read what they are sent. Both kinds of round alternate in one
run. Prints p50, p99 and the longest in milliseconds, Studio's share of a core, and what acquire and release cost with
100 open screens against none. Exit code 1 if a bar is missed.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psutil
from playwright.sync_api import Page, sync_playwright
from websockets.asyncio.client import connect

from benchmarks.server import running_box
from limits import engine
from limits.pool import Database
from stackbone.commands import OURS, studio_command
from tests.chromium import launch_arguments

SCREENS: Final = 200
BESIDE_ENGINE: Final = 100
CHANGES: Final = 40
ROUNDS: Final = 3
AT_MOST: Final = 3.0
"""Times what it takes with one screen, at the median."""
SECOND: Final = 1_000.0
ENGINE_AT_LEAST: Final = 0.9
"""Of the pairs of acquire and release that are done with no screen open."""
_LIMIT: Final = "hot"
_ACTOR: Final = engine.Actor(name="bench", source="client")

# The moment after the frame that shows the change, by the machine's clock.
_WATCH: Final = """
    window.shown = [];
    new MutationObserver(() => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => shown.push([
            document.querySelector('#limit-hot .c-busy b').textContent, performance.timeOrigin + performance.now(),
        ]);
        port2.postMessage(null);
    })).observe(document.querySelector('tbody'), { characterData: true, childList: true, subtree: true });
"""


@dataclass(slots=True)
class Seen:
    """What was measured with so many screens open."""

    screens: int
    delays: list[float] = field(default_factory=list)
    """Milliseconds."""
    cores: list[float] = field(default_factory=list)
    """Studio's share of a core, of each round."""


class Screens:
    """Open screens of the list, in a thread of their own."""

    def __init__(self, url: str, count: int) -> None:
        self._url, self._count = url, count
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._open = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    def __enter__(self) -> None:
        self._thread.start()
        if not self._open.wait(60):
            raise TimeoutError("not all screens opened within a minute")

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        self._loop.close()

    async def _run(self) -> None:
        ready = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(self._screen(ready)) for _ in range(self._count)]
        for _ in tasks:
            await ready.acquire()
        self._open.set()
        await self._stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _screen(self, ready: asyncio.Semaphore) -> None:
        address = self._url.replace("http", "ws", 1) + "ws/studio/?list=&lang=en"
        async with connect(address, origin=self._url.rstrip("/"), compression=None, open_timeout=60) as opened:  # type: ignore[arg-type]
            await opened.recv()
            await opened.send(json.dumps({"show": [_LIMIT]}))
            ready.release()
            async for _ in opened:
                pass


def measure(db: Database, changes: int, rounds: int) -> tuple[Seen, Seen, list[float]]:
    """Return what one screen and all screens saw, and the engine's share of speed with screens open, by round."""
    one, many = Seen(screens=1), Seen(screens=SCREENS)
    with _studio(db.url) as (process, url):
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(**launch_arguments())
            page = browser.new_page(bypass_csp=True)
            page.goto(url + "limits/")
            page.wait_for_selector("#live[data-state=live]")
            page.evaluate(_WATCH)
            for _ in range(rounds):
                _changes(db, page, process, one, changes)
                with Screens(url, SCREENS - 1):
                    _changes(db, page, process, many, changes)
            browser.close()
        return one, many, [_beside(db, url) for _ in range(rounds)]


def _changes(db: Database, page: Page, process: psutil.Process, seen: Seen, changes: int) -> None:
    used, began = _cpu(process), time.monotonic()
    for number in range(changes):
        busy = engine.request(_LIMIT, key=f"{time.monotonic_ns()}", db=db)
        committed = time.time() * 1_000
        page.wait_for_function("shown.length > 0")
        seen.delays.append(page.evaluate("shown.splice(0)[0][1]") - committed)
        engine.release(str(busy.slot_id), actor=_ACTOR, db=db)
        page.wait_for_function("shown.length > 0")
        # A change at any moment of the look's and the push's pauses.
        time.sleep(0.3 + 0.05 * (number % 7))
        page.evaluate("shown.length = 0")
    seen.cores.append((_cpu(process) - used) / (time.monotonic() - began))


def _beside(db: Database, url: str) -> float:
    without = _pairs(db)
    with Screens(url, BESIDE_ENGINE):
        watched = _pairs(db)
    return 2 * watched / (without + _pairs(db))


def _pairs(db: Database, seconds: float = 3.0) -> int:
    done, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        slot = engine.request(_LIMIT, key=f"{time.monotonic_ns()}", db=db)
        engine.release(str(slot.slot_id), actor=_ACTOR, db=db)
        done += 1
    return done


def _cpu(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return spent.user + spent.system


@contextmanager
def _studio(database_url: str) -> Iterator[tuple[psutil.Process, str]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    process = psutil.Popen(
        studio_command("127.0.0.1", port),
        cwd=OURS,
        env={**os.environ, "STACKBONE_DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "studio.settings"},
    )
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield process, url
    finally:
        process.terminate()
        process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--changes", type=int, default=CHANGES, help="changes a round (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of each kind (default %(default)s)")
    asked = parser.parse_args(arguments)
    with running_box() as db:
        one, many, engine_shares = measure(db, asked.changes, asked.rounds)
    for seen in (one, many):
        cuts = statistics.quantiles(seen.delays, n=100)
        print(
            f"commit to changed pixel, {seen.screens:3} open screens: p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms,"
            f" longest {max(seen.delays):.0f} ms; Studio at {statistics.mean(seen.cores):.0%} of a core"
        )
    ratio = statistics.median(many.delays) / statistics.median(one.delays)
    share = statistics.median(engine_shares)
    verdicts = (
        (f"{SCREENS} screens to one, at the median: {ratio:.2f} (bar: at most {AT_MOST:g})", ratio <= AT_MOST),
        (f"longest: {max(many.delays):.0f} ms (bar: a second)", max(many.delays) <= SECOND),
        (
            f"acquire and release beside {BESIDE_ENGINE} screens: {share:.2f} of those beside none"
            f" (bar: at least {ENGINE_AT_LEAST:g})",
            share >= ENGINE_AT_LEAST,
        ),
    )
    for text, met in verdicts:
        print(f"{text}: {'met' if met else 'MISSED'}")
    return 0 if all(met for _, met in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
