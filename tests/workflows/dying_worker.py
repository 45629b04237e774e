"""A real worker that is killed at one moment of its first run: `python dying_worker.py MOMENT stackbone-arguments...`."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dbos._sys_db import SystemDatabase

from limits import engine
from stackbone import cli
from stackbone.runtimes.dbos import DbosRuntime


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def after(call: Callable[..., Any], when: Callable[[Any, tuple[Any, ...]], bool]) -> Callable[..., Any]:
    def dying(*args: Any, **kwargs: Any) -> Any:
        answer = call(*args, **kwargs)
        if when(answer, args):
            die()
        return answer

    return dying


def before(call: Callable[..., Any], when: Callable[..., bool]) -> Callable[..., Any]:
    def dying(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            die()
        return call(*args, **kwargs)

    return dying


def fail_once_launched() -> None:
    """Fail, instead of being killed, once the run that was left behind is in its step again."""
    launch = DbosRuntime.launch

    async def failing(self: DbosRuntime) -> None:
        await launch(self)
        steps = Path(os.environ["STEPS"]) / "steps"
        while len(steps.read_text().splitlines()) < 2:
            await asyncio.sleep(0.01)
        raise RuntimeError("the test's own failure")

    DbosRuntime.launch = failing


record: Any = SystemDatabase.record_operation_result
MOMENTS: dict[str, Callable[[], None]] = {
    "after the request": lambda: setattr(engine, "request", after(engine.request, lambda asked, _: True)),
    "before the confirm": lambda: setattr(engine, "confirm", before(engine.confirm, lambda _: True)),
    "after the confirm": lambda: setattr(
        engine, "confirm", after(engine.confirm, lambda asked, _: asked.state == "busy")
    ),
    "before the record": lambda: setattr(
        SystemDatabase,
        "record_operation_result",
        before(record, lambda _, result: "Esperando" in result["function_name"]),
    ),
    "before the release": lambda: setattr(engine, "release", before(engine.release, lambda _: True)),
    "once launched": fail_once_launched,
    "after the release": lambda: setattr(engine, "release", after(engine.release, lambda *_: True)),
}

if __name__ == "__main__":
    MOMENTS[sys.argv[1]]()
    cli.main(sys.argv[2:])
