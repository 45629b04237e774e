"""`python -m benchmarks.screens`: what a screen costs among 1,000 limits, and among 1,100,000 slots of one limit.

Each page is asked for over the loopback from Studio in a process of its own, as a browser would, compressed; the time
is that from the question to the last byte. All pages take turns, so that what drifts on the machine drifts for all.
Beside the time: the compressed size, how many statements the page takes, and how many rows these read by indexes.
Exit code 1 if a bar is missed: a ratio to a smaller page, the size, the statements, or a table read from end to end.
"""

import argparse
import http.client
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch

import django
from django.test import Client

from benchmarks import crowds
from benchmarks.server import running_box
from limits import pool
from limits.pool import Database
from stackbone.commands import SETTINGS
from tests import studio_process

BYTES_MAX: Final = 200_000
DETAIL: Final = f"/limits/{crowds.CROWDED}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is in the largest box, and how often each page is looked at."""

    limits: int
    busy: int
    waiting: int
    rounds: int

    @property
    def last(self) -> int:
        """The number after which the last page of the queue begins."""
        return self.busy + self.waiting - 100


FULL: Final = Size(limits=1_000, busy=100_000, waiting=1_000_000, rounds=40)
QUICK: Final = Size(limits=30, busy=200, waiting=300, rounds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A page of a box; `against` and `at_most` are its bar, `alike` the page that takes as many statements."""

    name: str
    box: str
    path: str
    against: str | None = None
    at_most: float = 3
    alike: str | None = None


@dataclass(slots=True)
class Seen:
    """What was seen of a page."""

    seconds: list[float] = field(default_factory=list)
    bytes: int = 0
    statements: int = 0
    read: int = 0
    scans: int = 0


SCREENS: Final = [
    Screen(name="10 limits", box="few", path="/limits/"),
    Screen(name="100 limits", box="some", path="/limits/"),
    Screen(name="1,000 limits", box="many", path="/limits/", against="100 limits", alike="10 limits"),
    Screen(name="… page 2", box="many", path="/limits/?page=2", against="100 limits", alike="10 limits"),
    Screen(name="… fullest first", box="many", path="/limits/?sort=busy", against="100 limits", alike="10 limits"),
    Screen(name="… a search", box="many", path="/limits/?q=limit-09", against="100 limits", alike="10 limits"),
    Screen(name="empty limit", box="many", path=f"/limits/{crowds.EMPTY}/"),
    Screen(name="crowded limit", box="many", path=DETAIL, against="empty limit"),
    Screen(name="… soonest to expire", box="many", path=f"{DETAIL}?order=expiry", against="empty limit"),
    Screen(name="… page 2 of busy", box="many", path=f"{DETAIL}?busy=100", against="empty limit"),
    # A search and a place far from the head have no bar: what they cost is printed.
    Screen(name="… finds one", box="many", path=f"{DETAIL}?q=call-99999"),
    Screen(name="… finds all", box="many", path=f"{DETAIL}?q=call-"),
    Screen(name="… finds nothing", box="many", path=f"{DETAIL}?q=nobody"),
    Screen(name="… last of the queue", box="many", path=f"{DETAIL}?queue={{last}}"),
]


def measure(size: Size) -> dict[str, Seen]:
    """Make the boxes and look at every screen in turn."""
    screens = [replace(screen, path=screen.path.format(last=size.last)) for screen in SCREENS]
    seen = {screen.name: Seen() for screen in screens}
    with running_box() as db, ExitStack() as running:
        boxes = {
            "few": crowds.box(db, "few", limits=10),
            "some": crowds.box(db, "some", limits=100),
            "many": crowds.box(db, "many", limits=size.limits, busy=size.busy, waiting=size.waiting),
        }
        for box in boxes.values():
            running.callback(box.close)
        for screen in screens:
            _count(screen, boxes[screen.box], seen[screen.name])
        ways = {name: running.enter_context(_served(box)) for name, box in boxes.items()}
        for _ in range(2 + size.rounds):
            for screen in screens:
                _look(ways[screen.box], screen, seen[screen.name])
    for each in seen.values():
        # The first looks plan statements and load templates.
        del each.seconds[:2]
    return seen


@contextmanager
def _served(box: Database) -> Iterator[http.client.HTTPConnection]:
    with studio_process.running(box.url) as address:
        connection = http.client.HTTPConnection(address.removeprefix("http://"))
        try:
            yield connection
        finally:
            connection.close()


def _look(way: http.client.HTTPConnection, screen: Screen, seen: Seen) -> None:
    begun = time.perf_counter()
    way.request("GET", screen.path, headers={"Accept-Encoding": "gzip"})
    answer = way.getresponse()
    page = answer.read()
    seen.seconds.append(time.perf_counter() - begun)
    assert answer.status == 200, screen
    seen.bytes = max(seen.bytes, len(page))


def _count(screen: Screen, box: Database, seen: Seen) -> None:
    """Count what a page asks of the box, in this process: the same views, with a counter in between."""
    browser = Client(headers={"host": "127.0.0.1"})
    fetch = Database.fetch

    def counted(db: Database, *arguments: Any) -> Any:
        seen.statements += 1
        return fetch(db, *arguments)

    with patch.object(pool, "_default", box):
        browser.get(screen.path)
        scans, read = _looked_at(box)
        with patch.object(Database, "fetch", counted):
            browser.get(screen.path)
        scans_after, read_after = _looked_at(box)
    seen.scans, seen.read = scans_after - scans, read_after - read


def _looked_at(box: Database) -> tuple[int, int]:
    # The statistics are each connection's own until it hands them in, which an idle one has done.
    box.close()
    row = box.fetch(
        "SELECT sum(t.seq_scan)::bigint AS scans, (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes i"
        " WHERE i.schemaname = 'limits')::bigint AS read"
        " FROM pg_stat_user_tables t WHERE t.schemaname = 'limits' AND t.relname IN ('slot', 'limit', 'override')"
    )[0]
    return row["scans"], row["read"]


def faults(screen: Screen, seen: dict[str, Seen]) -> list[str]:
    """Return the bars that a screen misses, in words."""
    own = seen[screen.name]
    found = []
    if screen.against and (ratio := _ratio(screen, seen)) > screen.at_most:
        found.append(f"{ratio:.2f} times {screen.against}, at most {screen.at_most:g}")
    if own.bytes > BYTES_MAX:
        found.append(f"more than {BYTES_MAX // 1_000} KB")
    if screen.alike and own.statements != seen[screen.alike].statements:
        found.append(f"not as many statements as {screen.alike}")
    if own.scans:
        found.append("a table was read from end to end")
    return found


def _ratio(screen: Screen, seen: dict[str, Seen]) -> float:
    assert screen.against is not None
    return statistics.median(seen[screen.name].seconds) / statistics.median(seen[screen.against].seconds)


def _print(seen: dict[str, Seen]) -> None:
    print(f"{'screen':22}{'p50':>9}{'p99':>9}{'ratio':>8}{'KB':>7}{'asks':>6}{'rows read':>11}")
    for screen in SCREENS:
        own = seen[screen.name]
        times = sorted(own.seconds)
        p50, p99 = statistics.median(times) * 1_000, times[int(0.99 * (len(times) - 1))] * 1_000
        ratio = f"{_ratio(screen, seen):.2f}" if screen.against else ""
        print(
            f"{screen.name:22}{p50:6.1f} ms{p99:6.1f} ms{ratio:>8}{own.bytes / 1_000:7.1f}{own.statements:>6}{own.read:>11,}"
            f"  {'; '.join(faults(screen, seen)) or 'met'}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 if a bar is missed, which `--quick` is too small to tell."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screens", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little of everything, looked at once: shows that it runs")
    parser.add_argument("--rounds", type=int, default=FULL.rounds, help="looks at each page (default %(default)s)")
    asked = parser.parse_args(arguments)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    django.setup()
    seen = measure(QUICK if asked.quick else replace(FULL, rounds=asked.rounds))
    _print(seen)
    return 1 if not asked.quick and any(faults(screen, seen) for screen in SCREENS) else 0


if __name__ == "__main__":
    sys.exit(main())
