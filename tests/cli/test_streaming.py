"""`stackbone limits slots` over queues of any length: read page by page, written as it is read.

`STACKBONE_LONG_PROOFS=1` takes a queue of 200,000.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Final

import pytest

from benchmarks.load import load
from limits import engine, rules
from limits.pool import Database

type Declare = Callable[..., engine.Synced]

LONG: Final = 200_000 if os.environ.get("STACKBONE_LONG_PROOFS") else 40_000
# The command as it is, in a process that tells at its end how many kilobytes it held at most.
MEASURED: Final = r"""
import atexit, pathlib, re, runpy, sys
def tell():
    print(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1], file=sys.stderr)
atexit.register(tell)
runpy.run_module("stackbone", run_name="__main__")
"""
MEGABYTE: Final = 1_024


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is read from /proc")
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_a_queue_of_any_length_takes_the_same_memory(box: Database, declare: Declare, options: list[str]) -> None:
    """C1, S2: forty times the queue, read in step with as many ends of busy slots."""
    peaks = {}
    declare(short=(1_000, rules.HOUR), long=(LONG // 2, rules.HOUR))
    for limit, waiting in (("short", 1_000), ("long", LONG)):
        load(box, limit, state="busy", count=min(waiting, LONG // 2))
        load(box, limit, state="waiting", count=waiting)
        command = [sys.executable, "-c", MEASURED, "limits", "slots", limit, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.count("run-") == min(waiting, LONG // 2) + waiting
        peaks[limit] = int(done.stderr)
    assert peaks["long"] < peaks["short"] + 8 * MEGABYTE
