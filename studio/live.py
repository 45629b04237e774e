"""The socket of an open screen: what changed goes out at once, the clock every ten seconds."""

import asyncio
import json
import logging
import time
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs

from channels.generic.websocket import (  # type: ignore[import-untyped]
    AsyncJsonWebsocketConsumer,
    AsyncWebsocketConsumer,
)
from django.conf import settings

from limits import names
from limits.errors import LimitsError
from studio.feed import Watch, feed, mark
from studio.listing import UNPAGED_MAX
from studio.wording import clock_machine

log = logging.getLogger(__name__)

TICK: Final = 10.0
"""Seconds between two signs of life."""
GAP: Final = 0.25
"""Seconds between two messages of news: the first goes at once, then at most four a second."""

BAD_REQUEST, NOT_FOUND, TRY_AGAIN = 4400, 4404, 1013


class NoSuchSocket(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Close a socket that no page of Studio opens."""

    async def connect(self) -> None:
        """Say why, which only an open socket can."""
        await self.accept()
        await self.close(NOT_FOUND)


class ScreenSocket(AsyncJsonWebsocketConsumer):  # type: ignore[misc]
    """Tell one screen what changed.

    The address says what it shows: `?list`, `?limit=<name>`, or `?watch=<name>` any number of times for a page that
    is no limit's own; `lang`; `mark`, the state it was drawn from. A screen of the list tells the names of its rows:
    `{"show": [<name>, …]}`.
    """

    watch: Watch | None = None
    pushing: asyncio.Task[None] | None = None

    async def __call__(self, *connection: Any) -> None:
        """Serve the screen and forget it however that ends: to send to one that has just gone raises an error."""
        try:
            await super().__call__(*connection)
        finally:
            if self.watch is not None:
                feed.leave(self.watch)
            if self.pushing is not None:
                self.pushing.cancel()

    async def connect(self) -> None:
        """Accept first: a browser learns of a refusal's reason only by the code that closes an open socket."""
        await self.accept()
        asked = parse_qs(self.scope["query_string"].decode("ascii", "replace"), keep_blank_values=True)
        limits = asked.get("limit", []) + asked.get("watch", [])
        language = asked.get("lang", [""])[0]
        if len(limits) > UNPAGED_MAX or not all(map(names.is_limit_name, limits)):
            await self.close(BAD_REQUEST)
            return
        self.watch = Watch(
            language=language if language in dict(settings.LANGUAGES) else settings.LANGUAGE_CODE,
            part="row" if "list" in asked else "head" if "limit" in asked else "",
            names=frozenset(limits),
        )
        try:
            await feed.join(self.watch)
        except LimitsError:
            await self.close(TRY_AGAIN)
            return
        if feed.now is None:
            # Others watch, but the box does not answer them either.
            await self.close(TRY_AGAIN)
            return
        fresh = asked.get("mark") == [self._mark()]
        await self.send_json({"type": "hello", "now": self._now(), "fresh": fresh})
        self.pushing = asyncio.create_task(self._push())

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Take the names of the rows that the list shows now."""
        try:
            content = json.loads(text_data or "")
        except ValueError:
            content = None
        shown = content.get("show") if isinstance(content, dict) else None
        if (
            self.watch is None
            or not isinstance(shown, list)
            or len(shown) > UNPAGED_MAX
            or not all(isinstance(name, str) and names.is_limit_name(name) for name in shown)
        ):
            await self.close(BAD_REQUEST)
            return
        self.watch.names = frozenset(shown)

    async def _push(self) -> None:
        assert self.watch is not None
        told, ticked = 0, time.monotonic()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.watch.news.wait(), ticked + TICK - time.monotonic())
            pieces, limits, elsewhere = feed.news(self.watch)
            if limits or elsewhere:
                told += 1
                await self.send_json(
                    {
                        "type": "changed",
                        "now": self._now(),
                        "n": told,
                        "limits": limits,
                        "elsewhere": elsewhere,
                        "pieces": [{"id": piece.id, "html": piece.html} for piece in pieces],
                        **(self._list() if self.watch.listing else {}),
                    }
                )
                await asyncio.sleep(GAP)
            if time.monotonic() - ticked >= TICK:
                ticked = time.monotonic()
                # While the box does not answer nobody says that all is well.
                if now := self._now():
                    await self.send_json({"type": "tick", "now": now, "n": told})

    @staticmethod
    def _list() -> dict[str, Any]:
        # Which limits there are at all, and how many stand behind each filter.
        return {"set": mark((name, 0) for name in feed.limits), "counts": feed.counts}

    def _now(self) -> str | None:
        return clock_machine(feed.now) if feed.now is not None else None

    def _mark(self) -> str:
        assert self.watch is not None
        limits = feed.limits.values()
        return mark((x.name, x.revision) for x in limits if self.watch.listing or x.name in self.watch.names)
