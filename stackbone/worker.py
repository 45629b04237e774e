"""A worker's process: it runs the workflows of a workspace and the box's sweep, under an identity of its own.

However it ends, nothing is lost: runs go on from their last recorded step at the next start, or with another worker
once this identity has been gone for 60 seconds (Q7). So stopping is no more than taking up nothing new, letting what
is short come to its end, and dying.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from limits import engine, sweep
from limits.engine import Swept, Workflow
from limits.errors import BoxUnreachableError, IdentityTakenError
from limits.pool import Database
from limits.presence import Worker as Identity
from limits.wakeups import Wakeups
from stackbone import runtimes, workflow
from stackbone.waiting import Box
from stackbone.workflows import WorkflowFunction

if TYPE_CHECKING:
    from stackbone.runtimes.dbos import DbosRuntime

log = logging.getLogger(__name__)

DRAIN: Final = 7.0
"""Seconds that runs have to come to an end, or to a wait, and the sweep's pass, when the worker is told to stop."""
LOOK_EVERY: Final = 5.0
"""Seconds between two looks for runs whose worker is gone, and for own ones that nobody runs."""
IDLE_AFTER: Final = 30.0
"""Seconds after which an own run that nobody runs is taken up again; one that was just claimed is none."""
RETRY_EVERY: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a worker was asked to run."""

    database: Database
    name: str | None
    """The identity; none: the first number that is free."""
    workflows: list[WorkflowFunction]
    keep_days: int
    on_pass: Callable[[Swept], None]


def run(plan: Plan) -> int:
    """Run until told to stop; returns only where the process could not start or lost its identity, with an exit code.

    Raises `IdentityTakenError`, `NotMigratedError`.
    """
    return asyncio.run(_Worker(plan).run())


class _Worker:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.db = plan.database
        self.identity = Identity(plan.name)
        self.stop_sweep = threading.Event()
        self.sweeping = threading.Thread(target=self._sweep, name="sweep", daemon=True)
        self.nudge = threading.Event()
        self.wakeups = Wakeups(self.db, presence=self.identity, on_run_ended=self.nudge.set)
        self.box = Box(self.db, self.wakeups)
        self.runtime: DbosRuntime | None = None
        self.idle: dict[str, float] = {}
        """Own runs that nobody runs, and since when, by the process's clock."""

    async def run(self) -> int:
        told = asyncio.Event()
        for sign in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(sign, self._obey, sign, told)
        worker_id = await self._claim(told)
        if worker_id is None:
            return 0
        try:
            code = await self._work(worker_id, told)
        except Exception:
            log.exception("worker %s can't go on", self.identity.name)
            code = 1
        self._leave(code)
        return code

    async def _work(self, worker_id: int, told: asyncio.Event) -> int:
        self.sweeping.start()
        if self.plan.workflows:
            await self._launch(worker_id)
        log.info("%s", self._said())
        log.info("worker %s is ready", self.identity.name)
        keeper = asyncio.create_task(self._keep(told))
        await told.wait()
        keeper.cancel()
        if isinstance(self.wakeups.trouble, IdentityTakenError):
            return 1
        await self._drain()
        return 0

    def _obey(self, sign: signal.Signals, told: asyncio.Event) -> None:
        if told.is_set():
            self._leave(128 + sign)
        log.info("%s: stopping", sign.name)
        told.set()

    async def _claim(self, told: asyncio.Event) -> int | None:
        waited = False
        while not told.is_set():
            try:
                return await asyncio.to_thread(self.wakeups.process_id)
            except BoxUnreachableError as error:
                if not waited:
                    log.warning("waiting: %s", error)
                waited = True
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(told.wait(), RETRY_EVERY)
        return None

    async def _launch(self, worker_id: int) -> None:
        from stackbone.runtimes.dbos import DbosRuntime

        runtime = DbosRuntime(self.db.url, worker=self.identity.name)
        for each in self.plan.workflows:
            runtime.add(each.name, each.body())
        workflow.use(self.box)
        runtimes.install(runtime)
        await runtime.launch()
        self.runtime = runtime
        known = [
            Workflow(name=each.name, input_schema=each.input_schema, description=each.description)
            for each in self.plan.workflows
        ]
        await self.box.ask(partial(engine.know_workflows, worker_id, known, db=self.db))

    def _said(self) -> str:
        names = [each.name for each in self.plan.workflows]
        return (
            f"runs {len(names)} workflows: {', '.join(names)}"
            if names
            else "runs the sweep; the workspace has no workflows"
        )

    def _sweep(self) -> None:
        sweep.run(self.db, self.stop_sweep, nudge=self.nudge, on_pass=self.plan.on_pass, keep_days=self.plan.keep_days)

    async def _keep(self, told: asyncio.Event) -> None:
        """Look after runs that nobody runs, and after the own identity."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if isinstance(self.wakeups.trouble, IdentityTakenError):
                log.error("another process runs as worker %s now; this one stops", self.identity.name)
                told.set()
                return
            if self.runtime is not None:
                try:
                    await asyncio.to_thread(self._take_over, self.runtime)
                    await asyncio.to_thread(self._take_up_again, self.runtime)
                except Exception as error:
                    log.warning("runs without a worker are looked for again: %s", str(error).partition("\n")[0])

    def _take_over(self, runtime: "DbosRuntime") -> None:
        gone = self.db.fetch(
            """
            SELECT g.id, g.name FROM limits.gone_identities() g
            WHERE EXISTS (SELECT FROM dbos.workflow_status r WHERE r.status = 'PENDING' AND r.executor_id = g.name)
            """
        )
        for each in gone:
            with self.db.connection() as connection:
                lock = (engine.PROCESS_LOCK_CLASS, each["id"])
                # Held meanwhile, so that it can't come back in between.
                held = connection.execute("SELECT pg_try_advisory_lock(%s, %s) AS held", lock).fetchone()
                if held is None or not held["held"]:
                    continue
                try:
                    count = runtime.take_over([each["name"]])
                    log.warning("worker %s is gone: its %s runs are taken over", each["name"], count)
                finally:
                    connection.execute("SELECT pg_advisory_unlock(%s, %s)", lock)

    def _take_up_again(self, runtime: "DbosRuntime") -> None:
        """Take up again what counts as ours and does not run here: a recovery that an outage interrupted."""
        rows = self.db.fetch(
            "SELECT workflow_uuid AS id FROM dbos.workflow_status WHERE status = 'PENDING' AND executor_id = %s",
            [self.identity.name],
        )
        now, active = time.monotonic(), runtime.active()
        self.idle = {row["id"]: self.idle.get(row["id"], now) for row in rows if row["id"] not in active}
        again = [run_id for run_id, since in self.idle.items() if now - since >= IDLE_AFTER]
        if again:
            log.warning("%s runs are taken up again", len(again))
            runtime.take_up_again(again, self.identity.name)

    async def _drain(self) -> None:
        """Wait until every run has ended, or waits for a slot, and the sweep's pass has, but not for long."""
        self.box.stop()
        self.stop_sweep.set()
        self.nudge.set()
        if self.runtime is not None:
            self.runtime.stop_taking_up()
        until = time.monotonic() + DRAIN
        while time.monotonic() < until and (self.sweeping.is_alive() or self._running()):
            await asyncio.sleep(0.05)

    def _running(self) -> bool:
        return self.runtime is not None and bool(self.runtime.active() - set(self.box.waiting.values()))

    def _leave(self, code: int) -> None:
        # Not by unwinding: whoever holds a slot would see his block end, and give it back (A8).
        log.info("worker %s stops", self.identity.name)
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
