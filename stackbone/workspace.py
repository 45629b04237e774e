"""A workspace: what `stackbone_config.py` declares, checked as a whole, and how it is loaded."""

import difflib
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from limits import durations, names
from limits.engine import Declared
from limits.errors import InvalidValueError

CONFIG: Final = "stackbone_config.py"
WORKFLOWS: Final = "workflows"
_LIMIT_KEYS: Final = ("capacity", "max_hold")
_WORKSPACE_KEYS: Final = ("limits", "workflows", "processes", "name")
_PROCESS_NAME: Final = re.compile(r"[a-z0-9_-]{1,32}")


class ConfigError(Exception):
    """The workspace's config is faulty."""

    def __init__(self, faults: Sequence[str]) -> None:
        """List the `faults`, each one line that names the place and what would be right."""
        self.faults = tuple(faults)
        super().__init__("\n".join(faults))

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[tuple[str, ...]]]:
        return type(self), (self.faults,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """What a config declares. `load` fills in a missing name, and the workflows by a scan."""

    name: str
    """Whose database it is (D6); empty until `load` puts the folder's name in its place."""
    limits: Mapping[str, Declared]
    workflows: tuple[str, ...] | None
    """Files or modules with workflows; none: whatever stands in the folder `workflows/` (D5)."""
    processes: Mapping[str, tuple[str, ...]]
    """Commands that `stackbone dev` runs beside its own, by name."""


def define_workspace(
    *,
    limits: object = None,
    workflows: object = None,
    processes: object = None,
    name: object = None,
    **unknown: object,
) -> Workspace:
    """Declare a workspace (D1): `limits={"voice-calls": {"capacity": 20, "max_hold": "45m"}}`.

    A max hold is text like `45m`, whole milliseconds, or a `timedelta`. `workflows`, a list of files or modules,
    replaces the scan of `workflows/`. `processes`, commands by name, run beside the box in `stackbone dev`.
    Raises `ConfigError` with every fault at once (D4).
    """
    faults = [_unknown_key("", key, _WORKSPACE_KEYS) for key in unknown]
    declared = _check_limits({} if limits is None else limits, faults)
    commands = _check_processes({} if processes is None else processes, faults)
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()):
        faults.append(f"name: must be text of 1 to 200 printable characters, got {_shown(name)}")
    if workflows is not None and not _is_texts(workflows):
        faults.append(f"workflows: must be a list of files or modules, got {_shown(workflows)}")
    if faults:
        raise ConfigError(faults)
    return Workspace(
        name=name if isinstance(name, str) else "",
        limits=declared,
        workflows=tuple(workflows) if isinstance(workflows, list | tuple) else None,
        processes=commands,
    )


def load(directory: Path) -> Workspace:
    """Load the workspace in `directory`; its `name` and `workflows` are set.

    Raises `ConfigError`: no config, a syntax error or an exception in it (with file and line), or its faults.
    """
    path = directory / CONFIG
    if not path.is_file():
        raise ConfigError([f"{path}: not there; a workspace is a folder with a {CONFIG}"])
    with _importing_from(directory):
        workspace = _run(path).get("workspace")
    if workspace is None:
        raise ConfigError([f"{path}: has no `workspace`; write `workspace = define_workspace(...)`"])
    if not isinstance(workspace, Workspace):
        raise ConfigError([f"{path}: `workspace` must come from define_workspace, got {type(workspace).__name__}"])
    return replace(
        workspace,
        name=workspace.name or directory.resolve().name or "workspace",
        workflows=workspace.workflows if workspace.workflows is not None else _scan(directory),
    )


def _run(path: Path) -> dict[str, Any]:
    try:
        spec = importlib.util.spec_from_file_location("stackbone_config", path)
        if spec is None or spec.loader is None:
            raise ConfigError([f"{path}: is no Python file"])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ConfigError as error:
        raise ConfigError([f"{path.name}: {fault}" for fault in error.faults]) from None
    except SyntaxError as error:
        raise ConfigError([f"{error.filename or path}:{error.lineno}: {error.msg}"]) from error
    except (Exception, SystemExit) as error:
        raise ConfigError([f"{_where(error, path)}: {type(error).__name__}: {_first_line(error)}"]) from error
    return vars(module)


@contextmanager
def _importing_from(directory: Path) -> Iterator[None]:
    # A config may import its neighbours. Afterwards nothing of it is left behind: no path, no module, no bytecode.
    folder = str(directory.resolve())
    before = set(sys.modules)
    writes_no_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes_no_bytecode
        sys.path.remove(folder)
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).is_relative_to(folder):
                del sys.modules[name]


def _scan(directory: Path) -> tuple[str, ...]:
    files = sorted((directory / WORKFLOWS).glob("*.py"))
    return tuple(f"{WORKFLOWS}/{file.name}" for file in files if not file.name.startswith("_"))


def _check_limits(limits: object, faults: list[str]) -> dict[str, Declared]:
    if not isinstance(limits, Mapping):
        faults.append(f'limits: must be a dict like {{"voice-calls": {{...}}}}, got {_shown(limits)}')
        return {}
    declared = {}
    for name, values in limits.items():
        limit = _check_limit(f"limits[{_shown(name)}]", name, values, faults)
        if limit is not None:
            declared[name] = limit
    return declared


def _check_limit(where: str, name: object, values: object, faults: list[str]) -> Declared | None:
    before = len(faults)
    if not names.is_limit_name(name):
        faults.append(f"{where}: a name is 1 to 64 of a-z 0-9 . _ -")
    if not isinstance(values, Mapping):
        faults.append(f'{where}: must be a dict like {{"capacity": 20, "max_hold": "45m"}}, got {_shown(values)}')
        return None
    faults.extend(_unknown_key(f"{where}.", key, _LIMIT_KEYS) for key in values if key not in _LIMIT_KEYS)
    capacity = max_hold = 0
    try:
        capacity = names.check_capacity(values["capacity"], where=f"{where}.capacity")
    except KeyError:
        faults.append(f"{where}.capacity: is missing; how many slots may be held at once, like 20")
    except InvalidValueError as error:
        faults.append(str(error))
    try:
        max_hold = durations.parse_max_hold(values["max_hold"], where=f"{where}.max_hold")
    except KeyError:
        faults.append(f"{where}.max_hold: is missing; the longest a slot may stay held, like 45m, has no default")
    except InvalidValueError as error:
        faults.append(str(error))
    return Declared(capacity=capacity, max_hold=max_hold) if len(faults) == before else None


def _check_processes(processes: object, faults: list[str]) -> dict[str, tuple[str, ...]]:
    if not isinstance(processes, Mapping):
        faults.append(
            f'processes: must be a dict like {{"traffic": ["python", "traffic.py"]}}, got {_shown(processes)}'
        )
        return {}
    commands = {}
    for name, command in processes.items():
        if not (isinstance(name, str) and _PROCESS_NAME.fullmatch(name)):
            faults.append(f"processes[{_shown(name)}]: a name is 1 to 32 of a-z 0-9 _ -")
        elif not (_is_texts(command) and len(command) > 0 and all(command)):
            faults.append(
                f'processes["{name}"]: must be a command like ["python", "traffic.py"], got {_shown(command)}'
            )
        else:
            commands[name] = tuple(command)
    return commands


def _unknown_key(where: str, key: object, known: Sequence[str]) -> str:
    # maxHold and max-hold are near misses of max_hold, whatever their distance in letters.
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", str(key)).lower()
    near = [plain] if plain in known else difflib.get_close_matches(plain, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
    return f"{where}{key if isinstance(key, str) and key.isidentifier() else _shown(key)}: is not known{hint}"


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _where(error: BaseException, path: Path) -> str:
    # The last line of the workspace's own code on the way to the error.
    folder = path.resolve().parent
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_absolute() and Path(frame.filename).resolve().is_relative_to(folder)
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(path)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else ""


def _shown(value: object) -> str:
    if isinstance(value, str) and len(value) <= 80:
        return f'"{value}"' if value.isprintable() and '"' not in value else repr(value)
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
