"""The benchmark runs: every row measures something, in a form too short to say how much."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.cases import CASES


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
