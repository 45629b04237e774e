"""The call centre's work, three programs: `python traffic.py dialer|hangups|reports`.

`dialer` takes a slot for each call and places it; the slot stays busy as long as the call lasts. `hangups`, another
process, hears from the provider that a call has ended and gives its slot back. `reports` holds a slot of another
limit while it talks to the partner, and gives it back itself.
"""

import math
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from provider import Provider

from stackbone.client import BoxUnreachableError, Client, ClosedError, SlotTimeoutError, UnknownLimitError

DIALER_LINES: Final = 12
REPORT_LINES: Final = 7
WAVE: Final = 200.0
"""Seconds from one rush to the next."""
TELL_EVERY: Final = 30.0
STARTED: Final = time.monotonic()

stop = threading.Event()


def rush() -> float:
    """Return how busy the hour is: 1 in the rush, which is now and again in three minutes, 0 between."""
    return 0.5 + 0.5 * math.cos(2 * math.pi * (time.monotonic() - STARTED) / WAVE)


def dial(client: Client, provider: Provider) -> None:
    """Place one call, when a slot is free."""
    number = provider.new_number()
    try:
        slot = client.acquire("voice-calls", label=f"call-{number}", timeout="10m")
    except BaseException:
        provider.drop(number)
        raise
    if provider.place(number, slot.id, seconds=random.triangular(12, 80, 30)):
        say(f"call-{number}: the provider will lose its end; the slot stays busy until somebody releases it in Studio")


def dialer() -> None:
    """Place calls on several lines, more of them in the rush than a provider of 20 lets through."""
    provider = Provider()
    with Client() as client:
        run_lines(client, DIALER_LINES, lambda: dial(client, provider), lambda: 38 - 27 * rush(), done="calls placed")
    provider.close()


def report(client: Client, number: int) -> None:
    """Hold a session with the partner for as long as a report takes."""
    with client.slot("partner-api", label=f"report-{number}", timeout="5m"):
        stop.wait(random.triangular(6, 30, 12))


def reports() -> None:
    """Make reports on several lines; the partner takes five sessions."""
    numbers = iter(range(int(time.time()) % 100_000, sys.maxsize))
    with Client() as client:
        run_lines(client, REPORT_LINES, lambda: report(client, next(numbers)), lambda: 24 - 19 * rush(), done="reports")


def hangups() -> None:
    """Give the slots of ended calls back."""
    provider, ended = Provider(), 0
    tell_at = time.monotonic() + TELL_EVERY
    with Client() as client:
        while not stop.wait(0.5):
            try:
                for number, slot_id in provider.ended():
                    ended += 1
                    if not client.release(slot_id).released:
                        say(f"call-{number}: its slot was gone already")
                    provider.drop(number)
            except BoxUnreachableError as error:
                say(str(error))
            if time.monotonic() >= tell_at:
                say(f"{ended} calls ended")
                tell_at += TELL_EVERY
    provider.close()


def run_lines(client: Client, count: int, work: Callable[[], None], pause: Callable[[], float], *, done: str) -> None:
    """Do `work` on `count` lines, each with a pause of about `pause()` seconds in between, until told to stop."""
    finished: list[None] = []

    def line() -> None:
        stop.wait(random.uniform(0, 8))
        while not stop.is_set():
            try:
                work()
                finished.append(None)
            except ClosedError:
                return
            except (SlotTimeoutError, UnknownLimitError, BoxUnreachableError) as error:
                say(str(error))
            stop.wait(pause() * random.uniform(0.5, 1.5))

    lines = [threading.Thread(target=line) for _ in range(count)]
    for each in lines:
        each.start()
    while not stop.wait(TELL_EVERY):
        say(f"{len(finished)} {done}")
    # Whoever waits for a slot leaves the queue.
    client.close()
    for each in lines:
        each.join()


def say(text: str) -> None:
    print(text, flush=True)


def main() -> None:
    """Run one of the three programs until SIGTERM or Ctrl-C."""
    programs = {"dialer": dialer, "hangups": hangups, "reports": reports}
    if len(sys.argv) != 2 or sys.argv[1] not in programs:
        sys.exit(f"usage: python traffic.py {'|'.join(programs)}")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    programs[sys.argv[1]]()


if __name__ == "__main__":
    main()
