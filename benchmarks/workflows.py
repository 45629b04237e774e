"""`python -m benchmarks.workflows`: how soon after a release the next of the waiting runs is in its first step.

Beside it, in the same process and the same run: a step of the runtime that does nothing, and what the runtime's own
queue of concurrency 1 takes from one run's end to the next one's first step, at the best of several pollings.
Prints p50 and p99 in milliseconds, and two ratios with their bars; exit code 1 if one is missed.
"""

import argparse
import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from dbos import DBOS

from benchmarks.server import running_box
from limits import engine, queries
from limits.pool import Database
from limits.wakeups import Wakeups
from stackbone import runtimes, workflow
from stackbone.runtimes.dbos import DbosRuntime
from stackbone.waiting import Box
from stackbone.workflows import register

RUNS: Final = 200
POLLINGS: Final = (0.005, 0.02, 0.1)
"""Seconds between two looks of the runtime's queue; its default is a second."""
AT_MOST: Final = 4.0
"""Bare steps that a hand-over may take, at the median."""
_ACTOR: Final = engine.Actor(name="bench", source="client")

began: list[tuple[str, float]] = []
bare: list[float] = []
queued: list[tuple[float, float]] = []


@workflow.step
async def first_step(slot_id: str) -> None:
    began.append((slot_id, time.monotonic()))


@workflow.step
async def nothing() -> None:
    pass


async def waiting_run(_: Any) -> None:
    slot = await workflow.acquire_slot("handover")
    await first_step(slot.id)


async def bare_steps(count: int) -> None:
    for _ in range(count):
        begun = time.monotonic()
        await nothing()
        bare.append(time.monotonic() - begun)


async def queued_run(_: Any) -> None:
    async def step() -> float:
        return time.monotonic()

    begun = await DBOS.run_step_async({"name": "first_step"}, step)
    queued.append((begun, time.monotonic()))


async def measure(db: Database, runs: int) -> dict[str, list[float]]:
    """Return milliseconds: of a hand-over, of a bare step, and of the queue at its best polling."""
    loop = asyncio.get_running_loop()
    runtime = DbosRuntime(db.url, worker="benchmark")
    for function in (waiting_run, bare_steps, queued_run):
        made = register(function)
        runtime.add(made.name, made.body())
    wakeups = Wakeups(db)
    workflow.use(Box(db, wakeups))
    runtimes.install(runtime)
    await runtime.launch(queues=[_name(polling) for polling in POLLINGS])
    try:
        await runtime.run_child("bare_steps", runs)
        handed = await _hand_over(db, runtime, runs, loop)
        of_queue = min([await _queue(polling, runs) for polling in POLLINGS], key=statistics.median)
    finally:
        wakeups.close()
        # The loop's own threads are the runtime's: nothing can be handed to them any more.
        DBOS.destroy()
    return {"hand-over": handed, "bare step": [each * 1_000 for each in bare], "runtime's queue": of_queue}


async def _hand_over(db: Database, runtime: DbosRuntime, runs: int, loop: asyncio.AbstractEventLoop) -> list[float]:
    engine.edit("handover", actor=_ACTOR, capacity=1, db=db)
    holder = engine.request("handover", key="holder", db=db)
    tasks = [asyncio.create_task(runtime.run_child("waiting_run", None)) for _ in range(runs)]
    while _waiting(db) < runs:
        await asyncio.sleep(0.05)
    slot_id, handed = str(holder.slot_id), []
    for done in range(runs):
        await loop.run_in_executor(None, partial(engine.release, slot_id, actor=_ACTOR, db=db))
        released = time.monotonic()
        while len(began) <= done:
            await asyncio.sleep(0.0005)
        slot_id, at = began[done]
        handed.append(max(0.0, at - released) * 1_000)
        # The run's own bookkeeping after the step is none of the next hand-over's.
        await asyncio.sleep(0.02)
    await loop.run_in_executor(None, partial(engine.release, slot_id, actor=_ACTOR, db=db))
    await asyncio.gather(*tasks)
    return handed


async def _queue(polling: float, runs: int) -> list[float]:
    queued.clear()
    queue = await DBOS.register_queue_async(_name(polling), concurrency=1, polling_interval_sec=polling)
    target = runtimes.installed()
    assert isinstance(target, DbosRuntime)
    handles = [await queue.enqueue_async(target._workflows["queued_run"], None) for _ in range(runs)]
    for handle in handles:
        await handle.get_result(polling_interval_sec=0.05)
    return [max(0.0, after[0] - before[1]) * 1_000 for before, after in itertools.pairwise(queued)]


def _name(polling: float) -> str:
    return f"benchmark-{polling}"


def _waiting(db: Database) -> int:
    state = queries.limit("handover", db=db)
    assert state is not None
    return state.waiting


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workflows", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="how many runs wait (default %(default)s)")
    asked = parser.parse_args(arguments)
    with running_box() as db:
        seen = asyncio.run(measure(db, asked.runs))
    for name, values in seen.items():
        print(f"{name:16} p50 {_quantile(values, 0.5):8.2f} ms   p99 {_quantile(values, 0.99):8.2f} ms")
    steps = _quantile(seen["hand-over"], 0.5) / _quantile(seen["bare step"], 0.5)
    ahead = _quantile(seen["hand-over"], 0.5) / _quantile(seen["runtime's queue"], 0.5)
    print(f"hand-over / bare step       {steps:.2f}   at most {AT_MOST:g}   {'met' if steps <= AT_MOST else 'missed'}")
    print(f"hand-over / runtime's queue {ahead:.2f}   below 1     {'met' if ahead < 1 else 'missed'}")
    return 0 if steps <= AT_MOST and ahead < 1 else 1


def _quantile(values: list[float], quantile: float) -> float:
    return sorted(values)[int(quantile * (len(values) - 1))]


if __name__ == "__main__":
    # Workflows are known by their module's name.
    from benchmarks.workflows import main as run

    sys.exit(run())
