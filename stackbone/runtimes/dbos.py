"""The embedded runtime: DBOS, on the box's own database, in the schema `dbos`.

What is pinned here and why: the application's version, else each change of code would strand the runs that wait; the
executor's id, a worker's identity, else a second worker would run the first one's runs again; no bound of recoveries,
else those that wait long would be given up. A worker takes up only runs whose workflow it has the code of.
"""

import asyncio
import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, cast

import sqlalchemy
from dbos import DBOS, DBOSConfig
from dbos._sys_db_postgres import PostgresSystemDatabase

from stackbone.runtimes import CurrentRun
from stackbone.runtimes.naming import QUEUE
from stackbone.runtimes.recording import Recording
from stackbone.runtimes.schema import url_of

POOL_SIZE: Final = 10
"""Connections the runtime keeps at most, and one more where it listens."""
_OURS: Final = Path(__file__).parent.parent
LOOK_EVERY: Final = 0.1
"""Seconds between two looks for runs to take up."""

_workflow: ContextVar[tuple[str, bool] | None] = ContextVar("workflow", default=None)


class DbosRuntime:
    """DBOS in this process, on the event loop that launched it."""

    name = "dbos"

    def __init__(self, database_url: str, *, worker: str) -> None:
        """Run under the identity `worker`; nothing happens before `launch`."""
        self._config = DBOSConfig(
            name=QUEUE,
            system_database_url=url_of(database_url),
            sys_db_pool_size=POOL_SIZE,
            application_version=QUEUE,
            executor_id=worker,
            run_migrations=False,
            serializer=Recording(),
            log_level="WARNING",
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._workflows: dict[str, Callable[..., Any]] = {}

    def add(self, name: str, function: Callable[[Any], Any]) -> None:
        """Make `function`, which takes and returns JSON values, a workflow; before `launch`."""
        is_async = inspect.iscoroutinefunction(function)

        # Taken back at the end: a child runs in the context of its parent, which goes on afterwards.
        async def run_async(given: Any = None) -> Any:
            before = _workflow.set((name, True))
            try:
                return await function(given)
            finally:
                _workflow.reset(before)

        def run(given: Any = None) -> Any:
            before = _workflow.set((name, False))
            try:
                return function(given)
            finally:
                _workflow.reset(before)

        body: Callable[..., Any] = run_async if is_async else run
        self._workflows[name] = DBOS.workflow(name=name, max_recovery_attempts=None)(body)

    async def launch(self, *, queues: Sequence[str] = ()) -> None:
        """Begin to run workflows, first those that this identity left behind; from other `queues` of DBOS's too."""
        self._loop = asyncio.get_running_loop()
        _claim_what_is_known()
        DBOS(config=self._config)
        _take_over_logging()
        DBOS.listen_queues([QUEUE, *queues])
        DBOS.launch()
        await DBOS.register_queue_async(QUEUE, polling_interval_sec=LOOK_EVERY)

    def take_over(self, workers: list[str]) -> int:
        """Make the runs of identities that are gone eligible again, for whoever knows them; return how many."""
        return len(DBOS._recover_pending_workflows(workers))

    def take_up_again(self, run_ids: Collection[str], worker: str) -> None:
        """Make runs eligible again that count as this worker's, and that it does not run."""
        system = _instance()._sys_db
        for run_id in run_ids:
            system.reenqueue_for_recovery(run_id, [worker], QUEUE)

    def active(self) -> set[str]:
        """Return the ids of the runs that this process runs just now."""
        return set(_instance()._active_workflows_set.activeList())

    def stop_taking_up(self) -> None:
        """Take up no more runs; those under way go on."""
        for event in _instance().background_thread_stop_events:
            event.set()

    def current(self) -> CurrentRun | None:
        run_id = DBOS.workflow_id
        workflow = _workflow.get()
        if run_id is None or workflow is None:
            return None
        return CurrentRun(id=run_id, workflow=workflow[0], is_async=workflow[1], in_step=DBOS.step_id is not None)

    def is_own_loop(self) -> bool:
        return asyncio.get_running_loop() is self._loop

    async def step[T](
        self, name: str, body: Callable[[int], Awaitable[T]], *, attempts: int = 1, pause: float = 1.0
    ) -> T:
        async def numbered() -> T:
            return await body(cast(int, DBOS.step_id))

        return await DBOS.run_step_async(_options(name, attempts, pause), numbered)

    def blocking_step[T](self, name: str, body: Callable[[int], T], *, attempts: int = 1, pause: float = 1.0) -> T:
        def numbered() -> T:
            return body(cast(int, DBOS.step_id))

        return DBOS.run_step(_options(name, attempts, pause), numbered)

    async def run_child(self, workflow: str, given: object) -> object:
        return await self._workflows[workflow](given)

    def blocking_run_child(self, workflow: str, given: object) -> object:
        return self._workflows[workflow](given)


def _options(name: str, attempts: int, pause: float) -> Any:
    return {
        "name": name,
        "retries_allowed": attempts > 1,
        "max_attempts": max(attempts, 1),
        "interval_seconds": pause,
        "backoff_rate": 2.0,
    }


def _instance() -> DBOS:
    from dbos._dbos import _get_dbos_instance

    return _get_dbos_instance()


def _claim_what_is_known() -> None:
    # A run that is claimed by a worker without its code would hang there until that one's next start. Left in its queue
    # it waits for one that knows it (Q8). DBOS asks for predicates of its own at this place.
    def claim_gate(self: Any, queue: str, key: str | None) -> list[sqlalchemy.ColumnElement[bool]]:
        return [self.tables.workflow_status.c.name.in_(list(_instance()._registry.workflow_info_map))]

    setattr(PostgresSystemDatabase, "_claim_gate", claim_gate)  # noqa: B010  (mypy refuses the plain assignment)


class _RunErrors(logging.Filter):
    """Tells of a failed run in the words of its author's own code; a cancelled one is nobody's error."""

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.exc_info or record.exc_info[1] is None:
            return True
        error = record.exc_info[1]
        if "Cancelled" in type(error).__name__:
            return False
        if "background workflow" in record.msg or "asynchronous workflow" in record.msg:
            own = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)]
            told = "".join(traceback.format_list(own)) + f"{type(error).__name__}: {error}"
            record.msg, record.args, record.exc_info = "run %s failed:\n%s", (DBOS.workflow_id, told), None
            record.exc_text = None
        return True


def _is_machinery(filename: str) -> bool:
    path = Path(filename)
    return bool({"site-packages", "asyncio", "concurrent"} & set(path.parts)) or path.is_relative_to(_OURS)


def _take_over_logging() -> None:
    # Our own handlers say who speaks.
    theirs = logging.getLogger("dbos")
    theirs.handlers.clear()
    theirs.propagate = True
    theirs.filters[:] = [each for each in theirs.filters if not isinstance(each, _RunErrors)] + [_RunErrors()]
