"""`python -m tests.mutants [NAME…]`: breaks the SQL, mutant after mutant, and demands that the test of each fails."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tests.mutants.catalogue import FILES, MUTANTS, Mutant

ROOT: Final = Path(__file__).parents[2]
NEEDED: Final = ("benchmarks", "limits", "stackbone", "studio", "static", "templates", "tests", "pyproject.toml")
PATIENCE: Final = 180
AT_ONCE: Final = 2
PASSED, FAILED = 0, 1
SIGNS: Final = ("assert ", "AssertionError", "DID NOT RAISE", "violates check constraint")
REASON_LENGTH: Final = 110


def main(names: Sequence[str]) -> int:
    """Run all mutants, or those whose name contains one of `names`; return 1 if one survives."""
    chosen = [mutant for mutant in MUTANTS if not names or any(name in mutant.name for name in names)]
    begun = time.monotonic()
    if not chosen:
        print("no mutant is called like that")
        return 1
    with copy_of_the_project() as copy:
        code, report = run_tests(copy, sorted({mutant.test for mutant in chosen}))
    if code != PASSED:
        print(f"the tests fail without any mutant:\n{report}")
        return 1
    survivors = 0
    with ThreadPoolExecutor(AT_ONCE) as several:
        for mutant, (reason, outcome) in zip(chosen, several.map(tried, chosen), strict=True):
            survivors += reason is None
            verdict = "SURVIVED" if reason is None else "killed  "
            print(f"{verdict}  {mutant.name}\n          {mutant.test}\n          {reason or outcome}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed in {time.monotonic() - begun:.0f} s")
    return 1 if survivors else 0


def tried(mutant: Mutant) -> tuple[str | None, str]:
    """Return how the test noticed the mutant, none if it did not, and what its run printed."""
    with copy_of_the_project() as copy:
        broken = mutant.applied(copy)
        (copy / FILES / f"{mutant.file}.sql").write_text(broken, encoding="utf-8")
        code, report = run_tests(copy, [mutant.test])
        return (noticed(copy / "report.xml") if code == FAILED else None), report


@contextmanager
def copy_of_the_project() -> Iterator[Path]:
    """Lend a copy in a temporary folder: the project itself is never broken."""
    with tempfile.TemporaryDirectory(prefix="stackbone-mutants-") as folder:
        copy = Path(folder).resolve()
        # PostgreSQL may run as another user.
        copy.chmod(0o755)
        for name in NEEDED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, copy / name)
        yield copy


def run_tests(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests of the copy against the copy; return pytest's exit code, and what it printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--junitxml=report.xml"]
        + [f"tests/engine/{test}" for test in tests],
        cwd=copy,
        # Before the project itself, which the environment has installed as editable.
        env=os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        printed, _ = process.communicate(timeout=PATIENCE * len(tests))
    except subprocess.TimeoutExpired:
        # As Ctrl-C: the run takes its server down. A test that hangs has noticed nothing.
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate()
        return signal.SIGINT, f"no end after {PATIENCE * len(tests)} s\n{printed}"
    return process.returncode, printed


def noticed(report: Path) -> str | None:
    """Return the first assertion that failed, in the test or in the check after it; none if something else did.

    An impossible row that the tables refuse in the midst of a test counts too. A mutant that PostgreSQL does not
    even install fails every test, and proves nothing about any.
    """
    for found in ElementTree.parse(report).iter():
        if found.tag in ("failure", "error"):
            line = found.get("message", "").partition("\n")[0]
            if any(sign in line for sign in SIGNS):
                return line[:REASON_LENGTH]
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
