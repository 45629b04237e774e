"""`python -m tests.mutants`: breaks the SQL, one mutant after the other, and demands that its test fails."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.mutants.catalogue import FILES, MUTANTS

ROOT: Final = Path(__file__).parents[2]
NEEDED: Final = ("benchmarks", "limits", "stackbone", "studio", "static", "templates", "tests", "pyproject.toml")
PATIENCE: Final = 180
"""Seconds after which a test that hangs counts as one that noticed."""

PASSED, FAILED = 0, 1


def main(names: Sequence[str]) -> int:
    """Run all mutants, or those whose name contains one of `names`; return 1 if one survives."""
    chosen = [mutant for mutant in MUTANTS if not names or any(name in mutant.name for name in names)]
    with tempfile.TemporaryDirectory(prefix="stackbone-mutants-") as folder:
        copy = Path(folder)
        # Others may run tests as another user.
        copy.chmod(0o755)
        for name in NEEDED:
            _copy(ROOT / name, copy / name)
        unbroken = _pytest(copy, sorted({mutant.test for mutant in chosen}))
        if unbroken != PASSED:
            print("the tests fail without any mutant")
            return 1
        survivors = 0
        for mutant in chosen:
            file = copy / FILES / f"{mutant.file}.sql"
            whole = file.read_text(encoding="utf-8")
            begun = time.monotonic()
            file.write_text(mutant.applied(copy), encoding="utf-8")
            noticed = _pytest(copy, [mutant.test]) == FAILED
            file.write_text(whole, encoding="utf-8")
            survivors += not noticed
            verdict = "killed  " if noticed else "SURVIVED"
            print(f"{verdict} {time.monotonic() - begun:5.1f} s  {mutant.name}  ({mutant.test})", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed")
    return 1 if survivors else 0


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _pytest(copy: Path, tests: Iterable[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        [*command, *(f"tests/engine/{test}" for test in tests)],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        printed, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        # As Ctrl-C: the run takes its server down.
        process.send_signal(2)
        process.communicate()
        return FAILED
    if process.returncode not in (PASSED, FAILED):
        print(printed)
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
