"""A real worker that is killed at one moment of its first run: `python dying_worker.py MOMENT stackbone-arguments...`."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from dbos._sys_db import SystemDatabase

from limits import engine
from stackbone import cli


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
    "after the release": lambda: setattr(engine, "release", after(engine.release, lambda *_: True)),
}

if __name__ == "__main__":
    MOMENTS[sys.argv[1]]()
    cli.main(sys.argv[2:])
