"""A workspace: what `stackbone_config.py` declares, checked as a whole, and how it is loaded."""

import difflib
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from limits import durations, names, rules
from limits.engine import Declared
from limits.errors import InvalidValueError
from limits.quoting import quoted

CONFIG: Final = "stackbone_config.py"
WORKFLOWS: Final = "workflows"
_LIMIT_KEYS: Final = ("capacity", "max_hold")
_WORKSPACE_KEYS: Final = ("limits", "workflows", "processes", "name")
_PROCESS_NAME: Final = re.compile(r"[a-z0-9_-]{1,32}")
_OUR_PROCESSES: Final = ("stackbone", "postgres", "migrate", "studio", "worker")
_NAME_LENGTH_MAX: Final = 200


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
    if name is not None and not _is_name(name):
        faults.append(f"name: must be text of 1 to {_NAME_LENGTH_MAX} printable characters, got {quoted(name)}")
    if workflows is not None and not _is_texts(workflows):
        faults.append(f"workflows: must be a list of files or modules, got {quoted(workflows)}")
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
    folder = directory.resolve()
    path = folder / CONFIG
    if not path.is_file():
        raise ConfigError([f"{path}: not there; a workspace is a folder with a {CONFIG}"])
    with _importing_from(folder):
        found = _run(path)
    workspace = found.get("workspace")
    if workspace is None:
        others = [f"; `{name}` is one" for name, value in found.items() if isinstance(value, Workspace)]
        hint = others[0] if others else ""
        raise ConfigError([f"{CONFIG}: has no `workspace`; write `workspace = define_workspace(...)`{hint}"])
    if not isinstance(workspace, Workspace):
        raise ConfigError([f"{CONFIG}: `workspace` must come from define_workspace, got {quoted(workspace)}"])
    return replace(
        workspace,
        name=workspace.name or _name_of(folder),
        workflows=workspace.workflows if workspace.workflows is not None else _scan(folder),
    )


def _name_of(folder: Path) -> str:
    name = folder.name or "workspace"
    if not _is_name(name):
        raise ConfigError(
            [f"{CONFIG}: name: is missing, and the folder's name {quoted(name)} cannot serve; write name=..."]
        )
    return name


def _run(path: Path) -> dict[str, Any]:
    # Compiled from its text each time: bytecode of a file that changed twice in a second may be the older one's.
    module = ModuleType("stackbone_config")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except ConfigError as error:
        raise ConfigError([f"{_place(error, path)}: {fault}" for fault in error.faults]) from None
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        raise ConfigError([f"{_short(error.filename or str(path), path.parent)}{line}: {error.msg}"]) from error
    except (Exception, SystemExit) as error:
        raise ConfigError([f"{_place(error, path)}: {type(error).__name__}: {_first_line(error)}"]) from error
    return vars(module)


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    # A config may import its neighbours. Afterwards nothing of it is left behind: no path, no module, no bytecode.
    path, modules = list(sys.path), set(sys.modules)
    writes_no_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes_no_bytecode
        sys.path[:] = path
        if str(folder) not in path:
            sys.path_importer_cache.pop(str(folder), None)
            _forget_neighbours(folder, modules)
        sys.modules.pop("stackbone_config", None)


def _forget_neighbours(folder: Path, before: set[str]) -> None:
    # Libraries stay, also those of an environment inside the folder: many cannot be imported twice.
    new = set(sys.modules) - before
    neighbours = {name for name in new if "." not in name and _stands_in(folder, sys.modules[name])}
    for name in new:
        if name.partition(".")[0] in neighbours:
            del sys.modules[name]


def _stands_in(folder: Path, module: ModuleType) -> bool:
    places = list(getattr(module, "__path__", ())) or [getattr(module, "__file__", None) or ""]
    return any(Path(place).parent == folder for place in places)


def _scan(directory: Path) -> tuple[str, ...]:
    files = sorted((directory / WORKFLOWS).glob("*.py"))
    return tuple(f"{WORKFLOWS}/{file.name}" for file in files if not file.name.startswith("_"))


def _check_limits(limits: object, faults: list[str]) -> dict[str, Declared]:
    if not isinstance(limits, Mapping):
        faults.append(f'limits: must be a dict like {{"voice-calls": {{...}}}}, got {quoted(limits)}')
        return {}
    if len(limits) > rules.LIMITS_MAX:
        faults.append(f"limits: must be at most {rules.LIMITS_MAX:,}, got {len(limits):,}")
    declared = {}
    for name, values in limits.items():
        limit = _check_limit(f"limits[{_key(name)}]", name, values, faults)
        if limit is not None:
            declared[name] = limit
    return declared


def _check_limit(where: str, name: object, values: object, faults: list[str]) -> Declared | None:
    before = len(faults)
    if not names.is_limit_name(name):
        faults.append(f"{where}: a name is 1 to 64 of a-z 0-9 . _ -")
    if not isinstance(values, Mapping):
        faults.append(f'{where}: must be a dict like {{"capacity": 20, "max_hold": "45m"}}, got {quoted(values)}')
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
            f'processes: must be a dict like {{"traffic": ["python", "traffic.py"]}}, got {quoted(processes)}'
        )
        return {}
    commands = {}
    for name, command in processes.items():
        where = f"processes[{_key(name)}]"
        if not (isinstance(name, str) and _PROCESS_NAME.fullmatch(name)):
            faults.append(f"{where}: a name is 1 to 32 of a-z 0-9 _ -")
        elif name in _OUR_PROCESSES:
            faults.append(f"{where}: the box has a process of that name; choose another")
        elif not (_is_texts(command) and command):
            faults.append(f'{where}: must be a command like ["python", "traffic.py"], got {quoted(command)}')
        else:
            commands[name] = tuple(command)
    return commands


def _unknown_key(where: str, key: object, known: Sequence[str]) -> str:
    # maxHold and max-hold are near misses of max_hold, whatever their distance in letters.
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", key).lower() if isinstance(key, str) else ""
    near = [plain] if plain in known else difflib.get_close_matches(plain, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(known)}"
    return f"{where}{key if isinstance(key, str) and key.isidentifier() else _key(key)}: is not known{hint}"


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _NAME_LENGTH_MAX and name.isprintable()


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(
        isinstance(text, str) and text and "\0" not in text for text in value
    )


def _key(name: object) -> str:
    if isinstance(name, str) and len(name) <= 80 and name.isprintable() and '"' not in name:
        return f'"{name}"'
    return quoted(name)


def _place(error: BaseException, path: Path) -> str:
    # The last line of the workspace's own code on the way to the error.
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(path.parent) and "site-packages" not in Path(frame.filename).parts
    ]
    return f"{_short(own[-1].filename, path.parent)}:{own[-1].lineno}" if own else path.name


def _short(filename: str, folder: Path) -> str:
    return str(Path(filename).relative_to(folder)) if Path(filename).is_relative_to(folder) else filename


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else ""
