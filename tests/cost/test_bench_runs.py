"""The benchmark runs: every row measures something, in a form too short to say how much."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.screens import SCREENS


def test_every_row_of_the_benchmark_is_measured(tmp_path: Path) -> None:
    """`python -m benchmarks --quick` prints each row of the table and writes the same as JSON."""
    file = tmp_path / "rows.json"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick", "--json", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text(encoding="utf-8"))
    assert [row["row"] for row in rows] == [case.name for case in CASES]
    for row in rows:
        assert row["ratio"] >= 0
        assert row["floor"] > 0
        assert any(line.startswith(row["row"]) for line in done.stdout.splitlines())


def test_the_benchmark_of_runs_measures_all_three() -> None:
    """F6: a hand-over between runs, a bare step and the runtime's queue, in one run; too few runs to judge by."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.workflows", "--runs", "5"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    for row in ("hand-over ", "bare step", "runtime's queue"):
        assert any(line.startswith(row) and " p99 " in line for line in done.stdout.splitlines()), done.stdout


def test_the_benchmark_of_screens_looks_at_each() -> None:
    """S1, S2: every screen is timed, weighed and counted; in a box too small to say how much."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.screens", "--quick"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + len(SCREENS)
    for screen, line in zip(SCREENS, lines[1:], strict=True):
        assert line.startswith(screen.name), done.stdout
        assert line.count(" ms") == 2
