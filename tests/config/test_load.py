"""Loading a workspace from its folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limits import rules
from limits.engine import Declared
from stackbone.workspace import ConfigError, Workspace, load

DEFINE = "from stackbone import define_workspace\n"
GOOD = DEFINE + 'workspace = define_workspace(limits={"calls": {"capacity": 2, "max_hold": "45m"}})\n'

type Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Lend `write(config, **{"other.py": text})`, which makes a workspace and returns its folder."""

    def write(config: str | bytes, **files: str) -> Path:
        folder = tmp_path / "call-center"
        for name, text in {"stackbone_config.py": config, **files}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder

    return write


def faults(folder: Path) -> tuple[str, ...]:
    """Return what is wrong with the workspace in `folder`."""
    with pytest.raises(ConfigError) as caught:
        load(folder)
    return caught.value.faults


def test_a_workspace_is_loaded_from_its_folder(write: Write) -> None:
    """D1, D6: the limits; the folder's name is the workspace's."""
    workspace = load(write(GOOD))
    assert workspace.limits == {"calls": Declared(capacity=2, max_hold=45 * rules.MINUTE)}
    assert workspace.name == "call-center"


def test_a_name_in_the_config_goes_before_the_folders(write: Write) -> None:
    """D6: a workspace that moves keeps its name, and so its database."""
    assert load(write(DEFINE + 'workspace = define_workspace(name="calls of ñ")')).name == "calls of ñ"


def test_the_folder_may_be_named_in_any_way(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """D6: `.` and a symbolic link lead to the same workspace."""
    folder = write(GOOD)
    monkeypatch.chdir(folder)
    assert load(Path()).name == "call-center"
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert load(link).name == "call-center"


def test_a_folder_whose_name_cannot_serve_is_told(tmp_path: Path) -> None:
    """D6: bytes that are no text cannot be a workspace's name."""
    folder = Path(str(tmp_path) + "/caf\udce9")
    folder.mkdir()
    (folder / "stackbone_config.py").write_text(GOOD)
    (fault,) = faults(folder)
    assert "name: is missing" in fault
    assert fault.isprintable()


def test_the_scan_finds_the_modules_under_workflows(write: Write) -> None:
    """D5: every module, in order; not what starts with an underscore, not other files."""
    files = {"workflows/place.py": "", "workflows/end.py": "", "workflows/_own.py": "", "workflows/notes.txt": ""}
    folder = write(GOOD, **files)
    assert load(folder).workflows == ("workflows/end.py", "workflows/place.py")


def test_a_list_of_workflows_replaces_the_scan(write: Write) -> None:
    """D5: an empty list too."""
    folder = write(DEFINE + 'workspace = define_workspace(workflows=["more/a.py"])', **{"workflows/end.py": ""})
    assert load(folder).workflows == ("more/a.py",)
    assert load(write(DEFINE + "workspace = define_workspace(workflows=[])")).workflows == ()


def test_no_workflows_are_no_fault(write: Write) -> None:
    """D5: a config with only limits and nothing else in the folder."""
    assert load(write(GOOD)).workflows == ()


def test_a_folder_without_a_config_is_told(tmp_path: Path) -> None:
    """D4: the error names the file that is missing."""
    (fault,) = faults(tmp_path)
    assert fault == f"{tmp_path}/stackbone_config.py: not there; a workspace is a folder with a stackbone_config.py"


@pytest.mark.parametrize(
    ("config", "fault"),
    [
        ("x = 1\ndef broken(:\n", "stackbone_config.py:2: invalid syntax"),
        ("x = 1\n  y = 2\n", "stackbone_config.py:2: unexpected indent"),
        ("x = 1\0\n", "stackbone_config.py: source code string cannot contain null bytes"),
        ("\nimport not_there\n", "stackbone_config.py:2: ModuleNotFoundError: No module named 'not_there'"),
        ("def f():\n    return 1 / 0\n\nf()\n", "stackbone_config.py:2: ZeroDivisionError: division by zero"),
        ('raise ValueError("one\\ntwo")', "stackbone_config.py:1: ValueError: one"),
        ("raise ValueError", "stackbone_config.py:1: ValueError: "),
        ("import sys\nsys.exit(0)", "stackbone_config.py:2: SystemExit: 0"),
        ("import json\njson.loads('{')\n", "stackbone_config.py:2: JSONDecodeError: Expecting property name"),
        (DEFINE + "workspace = define_workspace({})", "stackbone_config.py:2: TypeError: define_workspace() takes 0"),
        ("", "stackbone_config.py: has no `workspace`; write `workspace = define_workspace(...)`"),
        (
            DEFINE + "box = define_workspace()",
            "has no `workspace`; write `workspace = define_workspace(...)`; `box` is one",
        ),
        ("workspace = None", "stackbone_config.py: has no `workspace`"),
        ("workspace = {}", "stackbone_config.py: `workspace` must come from define_workspace, got {}"),
    ],
)
def test_a_config_that_does_not_load_is_told_with_its_line(write: Write, config: str, fault: str) -> None:
    """D4: one clear error with file and line."""
    (found,) = faults(write(config))
    assert fault in found
    assert len(found.splitlines()) == 1


def test_a_config_that_is_no_text_is_told(write: Write) -> None:
    """D4: bytes that Python cannot read."""
    (fault,) = faults(write(b"# caf\xe9\n"))
    assert fault.startswith("stackbone_config.py")


def test_every_fault_has_the_line_of_the_declaration(write: Write) -> None:
    """D4: all of them, each on a line of its own."""
    config = DEFINE + '\nworkspace = define_workspace(\n    limits={"a": {"capacity": 0, "maxHold": "1h"}},\n)\n'
    assert [fault.partition(": ")[0] for fault in faults(write(config))] == ["stackbone_config.py:3"] * 3
    assert [fault.split(": ")[1] for fault in faults(write(config))] == [
        'limits["a"].maxHold',
        'limits["a"].capacity',
        'limits["a"].max_hold',
    ]


def test_a_config_may_import_its_neighbours(write: Write) -> None:
    """D1: modules, packages, and folders without an __init__."""
    files = {
        "sizes.py": "CALLS = 3\n",
        "shared/__init__.py": "",
        "shared/holds.py": 'CALLS = "2h"\n',
        "plain/more.py": "from sizes import CALLS\n",
    }
    config = DEFINE + (
        "import sizes\nfrom plain import more\nfrom shared.holds import CALLS\n"
        'workspace = define_workspace(limits={"calls": {"capacity": sizes.CALLS, "max_hold": CALLS}})\n'
    )
    assert load(write(config, **files)).limits == {"calls": Declared(capacity=3, max_hold=2 * rules.HOUR)}


def test_an_error_in_a_neighbour_is_told_with_its_place(write: Write) -> None:
    """D4: the line where it went wrong, not the one that imported it."""
    folder = write("import sizes\n", **{"sizes.py": "\n\nCALLS = 1 / 0\n"})
    assert faults(folder) == ("sizes.py:3: ZeroDivisionError: division by zero",)
    folder = write("import sizes\n", **{"sizes.py": "CALLS = = 1\n"})
    assert faults(folder) == ("sizes.py:1: invalid syntax",)


@pytest.mark.parametrize("end", ["", "raise ValueError\n", "import sys\nsys.path.clear()\n"])
def test_loading_leaves_nothing_behind(write: Write, end: str) -> None:
    """D1: neither path nor module nor bytecode; a neighbour called like another workspace's is loaded anew."""
    files = {"sizes.py": "CALLS = 3\n", "shared/__init__.py": "", "shared/holds.py": ""}
    folder = write(GOOD + "import sizes, shared.holds\n" + end, **files)
    path, modules = list(sys.path), set(sys.modules)
    if end.startswith("raise"):
        faults(folder)
    else:
        load(folder)
    assert sys.path == path
    assert set(sys.modules) == modules
    assert not list(folder.rglob("*.pyc"))


def test_a_library_stays_loaded_even_from_an_environment_inside_the_folder(write: Write) -> None:
    """D1: many libraries cannot be imported twice in a process."""
    library = "venv/lib/site-packages/loaded_once_only.py"
    folder = write(
        GOOD + f"import sys\nsys.path.append({'venv/lib/site-packages'!r})\n"
        "import pathlib\nsys.path[-1] = str(pathlib.Path(__file__).parent / sys.path[-1])\nimport loaded_once_only\n",
        **{library: ""},
    )
    load(folder)
    assert sys.modules.pop("loaded_once_only").__file__ == str(folder / library)


def test_a_config_that_changed_twice_in_a_second_is_read_anew(write: Write) -> None:
    """D6: no older bytecode is taken for the file."""
    for capacity in (2, 3):
        folder = write(GOOD.replace(": 2,", f": {capacity},"))
        assert load(folder).limits["calls"].capacity == capacity


def test_a_config_may_hold_whatever_python_can(write: Write) -> None:
    """D1: classes that look for their own module find it."""
    config = (
        "from __future__ import annotations\n" + GOOD + "from dataclasses import dataclass\n"
        "from pathlib import Path\nassert Path(__file__).name == 'stackbone_config.py'\n"
        "@dataclass\nclass Site:\n    name: str\n"
    )
    assert isinstance(load(write(config)), Workspace)


def test_a_neighbour_called_like_a_module_of_ours_changes_nothing(write: Write) -> None:
    """D1: a workspace may have a `limits.py` of its own."""
    folder = write(GOOD, **{"limits.py": "raise RuntimeError\n", "click.py": "raise RuntimeError\n"})
    assert load(folder).limits["calls"].capacity == 2
