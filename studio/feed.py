"""What changed about the limits, for all open screens of this process: one look at the box, however many watch.

PostgreSQL is the bus. Each change of a limit moves its revision in the transaction that makes it, whichever process
that is, so a look at all revisions finds what changed; acquire and release pay nothing for being watched. Nobody
looks while no screen is open. Screens are told "there is something new" and then take what they show as it stands by
then: nothing is lost by being late, and nothing piles up.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

from django.template.loader import render_to_string
from django.utils import translation

from limits import queries
from limits.errors import LimitsError
from limits.queries import LimitState
from studio import listing, sections

log = logging.getLogger(__name__)

PAUSE: Final = 0.05
"""Seconds between two looks; more where a look takes long, so that looking takes a small part of a core."""
PAUSE_AFTER_CHANGE: Final = 0.1
_SHARE: Final = 4
AWAY_PAUSE: Final = 1.0
"""Seconds until the next try while the box does not answer."""
STATES_EVERY: Final = 5.0
"""Seconds between two looks at what time alone changes: Filling becomes Not handing out, a slot becomes overdue."""


def mark(limits: Iterable[tuple[str, int]]) -> str:
    """Return a short text for names and revisions: the same only while none of these limits has changed."""
    told = blake2b(digest_size=8)
    for name, revision in sorted(limits):
        told.update(f"{name} {revision}\n".encode())
    return told.hexdigest()


@dataclass(slots=True, kw_only=True, eq=False)
class Watch:
    """What one screen shows, and how far it has been told."""

    language: str
    part: str
    """What is drawn of each of `names`: its "row" in the list, the "head" of its page, or "" where none is shown."""
    names: frozenset[str]
    version: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def listing(self) -> bool:
        """Whether it shows the list, and with it the summary."""
        return self.part == "row"

    def keys(self, names: Iterable[str]) -> list[str]:
        """Return the keys of its pieces that a change of these limits draws anew."""
        return [*(["summary"] if self.listing else []), *(f"{self.part} {name}" for name in names if self.part)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a page, drawn once for every screen that shows it in that language."""

    id: str
    html: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at the box found."""

    now: datetime
    limits: dict[str, LimitState]
    changed: frozenset[str]
    pieces: dict[tuple[str, str], Piece]
    """By kind or limit ("summary", "row voice-calls", "head voice-calls") and language."""


class Feed:
    """The box as it stands, looked at while anybody watches. One event loop uses it."""

    def __init__(self) -> None:
        """Watch nothing yet."""
        self.version = 0
        self.changed: dict[str, int] = {}
        self.pieces: dict[tuple[str, str], Piece] = {}
        self.limits: dict[str, LimitState] = {}
        self.counts: dict[str, int] = {}
        self._watches: set[Watch] = set()
        self._looking: asyncio.Task[None] | None = None
        self._begun = asyncio.Lock()
        self._now: datetime | None = None
        self._seen_at = 0.0
        self._states_at = 0.0

    async def join(self, watch: Watch) -> None:
        """Tell this screen from now on; raises `LimitsError` if the box does not answer."""
        async with self._begun:
            if self._looking is None:
                self._states_at = 0.0
                self._take(await asyncio.to_thread(self._look, frozenset(), time.monotonic()))
                self._looking = asyncio.create_task(self._keep_looking())
            watch.version = self.version
            self._watches.add(watch)

    def leave(self, watch: Watch) -> None:
        """Tell this screen no more; the last one to leave ends the looking."""
        self._watches.discard(watch)
        if not self._watches and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    @property
    def now(self) -> datetime | None:
        """The box's time; none while the box has not answered for as long as a tick takes."""
        age = time.monotonic() - self._seen_at
        return self._now + timedelta(seconds=age) if self._now is not None and age < 2 * STATES_EVERY else None

    def news(self, watch: Watch) -> tuple[list[Piece], list[str], bool]:
        """Return what a screen has not been told: its changed pieces, the limits they are of, whether others changed.

        The screen counts as told then.
        """
        changed = [name for name, version in self.changed.items() if version > watch.version]
        watch.version = self.version
        watch.news.clear()
        shown = [name for name in changed if name in watch.names]
        wanted = watch.keys(shown) if changed else []
        pieces = [self.pieces[key, watch.language] for key in wanted if (key, watch.language) in self.pieces]
        return pieces, shown, len(shown) < len(changed)

    async def _keep_looking(self) -> None:
        away = False
        while True:
            began = time.monotonic()
            wanted = frozenset((key, watch.language) for watch in self._watches for key in watch.keys(watch.names))
            try:
                look = await asyncio.to_thread(self._look, wanted, began)
                self._take(look)
            except LimitsError as error:
                if not away:
                    log.warning("open screens stand still: %s", error)
                away = True
                await asyncio.sleep(AWAY_PAUSE)
                continue
            except Exception:
                log.exception("open screens could not be brought up to date")
                await asyncio.sleep(AWAY_PAUSE)
                continue
            if away:
                log.warning("open screens are live again")
                away = False
            took = time.monotonic() - began
            await asyncio.sleep(max(PAUSE_AFTER_CHANGE if look.changed else PAUSE, (_SHARE - 1) * took))

    def _take(self, look: Look) -> None:
        self._now, self._seen_at = look.now, time.monotonic()
        self.limits = look.limits
        if not look.changed:
            return
        self.version += 1
        self.changed |= dict.fromkeys(look.changed, self.version)
        self.pieces |= look.pieces
        self.counts = listing.counts([*look.limits.values()])
        for watch in self._watches:
            watch.news.set()

    def _look(self, wanted: frozenset[tuple[str, str]], began: float) -> Look:
        # In a thread of its own; one at a time.
        now, revisions = queries.revisions()
        known = self.limits
        if began - self._states_at >= STATES_EVERY:
            self._states_at = began
            read = queries.limits()
            limits = {limit.name: limit for limit in read}
        else:
            moved = [name for name, revision in revisions.items() if _revision(known.get(name)) != revision]
            read = queries.limits(names=moved) if moved else []
            limits = {name: limit for name, limit in known.items() if name in revisions}
            limits |= {limit.name: limit for limit in read}
        changed = {limit.name for limit in read if _stamp(known.get(limit.name)) != _stamp(limit)}
        changed |= known.keys() - limits.keys()
        return Look(
            now=now,
            limits=dict(sorted(limits.items())),
            changed=frozenset(changed),
            pieces=_draw(limits, changed, wanted) if changed else {},
        )


def _revision(limit: LimitState | None) -> int | None:
    return limit.revision if limit is not None else None


def _stamp(limit: LimitState | None) -> object:
    # What a screen shows of a limit depends on these alone, but for the clocks, which tick in the browser.
    return limit and (limit.revision, limit.health)


def _draw(
    limits: dict[str, LimitState], changed: set[str], wanted: frozenset[tuple[str, str]]
) -> dict[tuple[str, str], Piece]:
    pieces = {}
    for key, language in wanted:
        kind, _, name = key.partition(" ")
        if kind != "summary" and name not in changed:
            continue
        with translation.override(language):
            if kind == "summary":
                everything = [*limits.values()]
                pieces[key, language] = Piece(
                    id="summary", html=render_to_string("limits/index.html#summary", listing.summed_up(everything))
                )
            elif kind == "row" and name in limits:
                html = render_to_string("limits/index.html#row", {"limit": limits[name]})
                pieces[key, language] = Piece(id=f"limit-{name}", html=html)
            elif kind == "head" and (limit := limits.get(name) or queries.limit(name)) is not None:
                html = render_to_string("limits/detail.html#head", sections.head(limit))
                pieces[key, language] = Piece(id="head", html=html)
    return pieces


feed: Final = Feed()
"""The process's one feed."""
