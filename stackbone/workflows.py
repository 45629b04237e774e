"""The workflows of this process: registered by their decorator, found in the files of a workspace."""

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_type_hints

import pydantic
import pydantic_core

from limits import names
from limits.errors import InvalidValueError
from stackbone import runtimes

_registered: dict[str, "WorkflowFunction"] = {}
_NO_INPUT: Final = object()


@dataclass(frozen=True, slots=True, eq=False)
class WorkflowFunction:
    """A workflow: the function, and what is known of its input. Called in a workflow it runs as a part of that run."""

    name: str
    function: Callable[..., Any]
    takes_input: bool
    input: pydantic.TypeAdapter[Any]

    @property
    def is_async(self) -> bool:
        """Whether it is an `async def`."""
        return inspect.iscoroutinefunction(self.function)

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of its input."""
        return self.input.json_schema()

    @property
    def description(self) -> str:
        """Its docstring's first paragraph."""
        return (inspect.getdoc(self.function) or "").partition("\n\n")[0].replace("\n", " ")

    def __call__(self, input: Any = None) -> Any:
        """Run as a part of the calling run, awaited where that is a coroutine; raises `RuntimeError` elsewhere."""
        runtime = runtimes.installed()
        run = runtime.current() if runtime is not None else None
        if runtime is None or run is None or run.in_step:
            raise RuntimeError(
                f"workflow {self.name!r} is called outside a workflow: start a run of it with `stackbone trigger` or"
                f" Client().trigger, or test its function itself, {self.name}.function"
            )
        if run.is_async != self.is_async:
            kinds = ("a plain function", "an async function")
            raise RuntimeError(
                f"workflow {self.name!r} is {kinds[self.is_async]} and can't be a part of {run.workflow!r}, which is"
                f" {kinds[run.is_async]}"
            )
        given = self.input.dump_python(input, mode="json") if input is not None else None
        if run.is_async:
            return runtime.run_child(self.name, given)
        return runtime.blocking_run_child(self.name, given)

    def body(self) -> Callable[[Any], Any]:
        """Return what the runtime runs: JSON in, JSON out, the input checked first."""
        if self.is_async:

            async def run_async(given: Any) -> Any:
                return _jsonable(self.name, await self.function(*self._arguments(given)))

            return run_async

        def run(given: Any) -> Any:
            return _jsonable(self.name, self.function(*self._arguments(given)))

        return run

    def _arguments(self, given: Any) -> tuple[Any, ...]:
        try:
            checked = self.input.validate_python(given)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = "".join(f".{part}" for part in first["loc"])
            raise InvalidValueError(f"input{place}", first["msg"]) from None
        return (checked,) if self.takes_input else ()


def register(function: Callable[..., Any], *, name: str | None = None) -> WorkflowFunction:
    """Make `function` a workflow of this process; raises `TypeError`."""
    shown = f"{function.__module__}.{function.__qualname__}"
    chosen = name if name is not None else function.__name__
    try:
        names.check_id(chosen, where=f"workflow {shown}: name")
    except InvalidValueError as error:
        raise TypeError(str(error)) from None
    parameters = list(inspect.signature(function).parameters.values())
    if len(parameters) > 1:
        raise TypeError(f"workflow {shown}: takes one input at most, not {len(parameters)}; put them into one model")
    hints = get_type_hints(function, include_extras=True)
    annotation = hints.get(parameters[0].name, Any) if parameters else Any
    other = _registered.get(chosen)
    if other is not None and _source(other.function) != _source(function):
        raise TypeError(f"workflow {chosen!r} stands in {_source(function)} and in {_source(other.function)}")
    made = WorkflowFunction(chosen, function, bool(parameters), pydantic.TypeAdapter(annotation))
    _registered[chosen] = made
    return made


def registered() -> list[WorkflowFunction]:
    """Return the workflows of this process, from A to Z."""
    return [_registered[name] for name in sorted(_registered)]


def find(folder: Path, places: tuple[str, ...]) -> list[str]:
    """Import the files or modules with workflows of the workspace in `folder`; return a line for each that failed.

    A file is named below the folder, like `workflows/place_call.py`. One that fails stops no other.
    """
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    faults = []
    for place in places:
        before = dict(_registered)
        module = place.removesuffix(".py").replace("/", ".") if place.endswith(".py") else place
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:
            _registered.clear()
            _registered.update(before)
            faults.append(_fault(folder, place, error))
    return faults


def _fault(folder: Path, place: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        where, line = error.filename, error.lineno
    else:
        own = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(folder)]
        where, line = (own[-1].filename, own[-1].lineno) if own else (place, None)
    shown = Path(where).relative_to(folder) if Path(where).is_relative_to(folder) else where
    said = error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"
    return f"{shown}{f':{line}' if line else ''}: {' '.join(said.splitlines())}"


def _source(function: Callable[..., Any]) -> str:
    code = inspect.unwrap(function).__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


def _jsonable(name: str, value: Any) -> Any:
    try:
        return pydantic_core.to_jsonable_python(value)
    except pydantic_core.PydanticSerializationError as error:
        raise TypeError(f"workflow {name!r} returned what JSON can't carry: {error}") from None
