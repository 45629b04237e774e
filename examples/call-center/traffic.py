"""What happens at the call centre, three programs: `python traffic.py dialer|hangups|reports`.

They only start runs, the work is done by the workflows: `dialer` wants calls placed, `hangups` stands for the
provider, which calls back when a call has ended, and `reports` wants reports.
"""

import math
import random
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Final

from provider import Provider

from stackbone.client import BoxUnreachableError, Client, SlotTimeoutError
from stackbone.runs import RunFailedError, UnknownRunError, UnknownWorkflowError

DIALER_LINES: Final = 12
REPORT_LINES: Final = 7
WAVE: Final = 200.0
"""Seconds from one rush to the next."""
TELL_EVERY: Final = 30.0
TRY_EVERY: Final = 2.0
WORTH_A_LINE: Final = 4
"""After so many tries in vain a program says why."""
STARTED: Final = time.monotonic()

stop = threading.Event()


def rush() -> float:
    """Return how busy the hour is: 1 in the rush, which is now and again in three minutes, 0 between."""
    return 0.5 + 0.5 * math.cos(2 * math.pi * (time.monotonic() - STARTED) / WAVE)


def dialer() -> None:
    """Want calls placed on several lines, more of them in the rush than a provider of 20 lets through."""
    client, provider = Client(), Provider()

    def dial() -> None:
        run(client, "place_call", {"call_id": f"call-{provider.new_number()}"})

    work_lines(DIALER_LINES, dial, lambda: 38 - 27 * rush(), done="calls placed")


def reports() -> None:
    """Want reports on several lines; the partner takes five sessions."""
    client, numbers = Client(), iter(range(int(time.time()) % 100_000, sys.maxsize))

    def report() -> None:
        run(client, "export_report", {"report_id": f"report-{next(numbers)}"})

    work_lines(REPORT_LINES, report, lambda: 24 - 19 * rush(), done="reports")


def hangups() -> None:
    """Call back for each call that has ended, until that got through."""
    client, provider, ended = Client(), Provider(), 0
    tell_at = time.monotonic() + TELL_EVERY
    while not stop.wait(0.5):
        for call_id, slot_id in provider.ended():
            # The same id again starts no second run.
            if start(client, "call_ended", {"slot_id": slot_id}, run_id=f"ended-{slot_id}"):
                provider.told(call_id)
                ended += 1
        if time.monotonic() >= tell_at:
            say(f"{ended} calls ended")
            tell_at += TELL_EVERY


def run(client: Client, workflow: str, given: dict[str, str]) -> None:
    """Start a run and wait until it has ended, however often the box is away meanwhile."""
    run_id = str(uuid.uuid4())
    if start(client, workflow, given, run_id=run_id):
        until_told(lambda: client.result(run_id))


def start(client: Client, workflow: str, given: dict[str, str], *, run_id: str) -> bool:
    """Start a run, trying until it works; return false if told to stop before it did."""
    return until_told(lambda: client.trigger(workflow, given, run_id=run_id))


def until_told(call: Callable[[], object]) -> bool:
    """Make a call to the box, again and again until it gets through; return false if told to stop before."""
    tries = 0
    while not stop.is_set():
        try:
            call()
        except (BoxUnreachableError, UnknownWorkflowError) as error:
            # Away; or its worker starts just now, which is not worth a line.
            tries += 1
            if tries == WORTH_A_LINE:
                say(str(error))
            stop.wait(TRY_EVERY)
        else:
            return True
    return False


def work_lines(count: int, work: Callable[[], None], pause: Callable[[], float], *, done: str) -> None:
    """Do `work` on `count` lines, each with a pause of about `pause()` seconds in between, until told to stop."""
    finished: list[None] = []

    def line() -> None:
        stop.wait(random.uniform(0, 8))
        while not stop.is_set():
            try:
                work()
                finished.append(None)
            except (SlotTimeoutError, RunFailedError, UnknownRunError, TimeoutError) as error:
                say(str(error))
            stop.wait(pause() * random.uniform(0.5, 1.5))

    for _ in range(count):
        # The runs go on without whoever wanted them.
        threading.Thread(target=line, daemon=True).start()
    while not stop.wait(TELL_EVERY):
        say(f"{len(finished)} {done}")


def say(text: str) -> None:
    if not stop.is_set():
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
