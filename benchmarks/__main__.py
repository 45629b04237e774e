"""`python -m benchmarks`: measures the table of bars and prints it."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cases import CASES
from benchmarks.measure import Result, Rounds
from benchmarks.server import running_box

FULL = Rounds(count=3, seconds=5)
QUICK = Rounds(count=1, seconds=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, write the JSON; return 1 if a bar is missed, which `--quick` is too rough to tell."""
    asked = _parse(arguments)
    chosen = [case for case in CASES if not asked.only or case.name in asked.only]
    rounds = QUICK if asked.quick else Rounds(count=asked.rounds, seconds=asked.seconds)
    results = []
    with running_box() as db:
        for case in chosen:
            print(f"{case.title} ...", end=" ", file=sys.stderr, flush=True)
            results.append(case.run(db, rounds))
            print(f"{results[-1].ratio:.2f}", file=sys.stderr, flush=True)
    _print(results)
    if asked.json:
        asked.json.write_text(json.dumps([_plain(result) for result in results], indent=2) + "\n", encoding="utf-8")
    return 0 if asked.quick or all(result.met for result in results) else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="The engine against the floor of its own server: durable transactions as small as can be.",
    )
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"a row: {', '.join(names)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    parser.add_argument("--quick", action="store_true", help="one round of a second a row: shows that it runs")
    parser.add_argument("--rounds", type=int, default=FULL.count, help="how many rounds a row (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=FULL.seconds, help="length of a round (default %(default)s)")
    return parser.parse_args(arguments)


def _print(results: Sequence[Result]) -> None:
    lines = [("row", "seen", "floor", "ratio", "rounds", "bar", "", "what")]
    lines += [
        (
            result.name,
            _figure(result.seen, result.unit),
            _figure(result.floor, result.unit),
            f"{result.ratio:.2f}",
            f"{min(result.ratios):.2f} to {max(result.ratios):.2f}",
            f"{'at least' if result.bar.at_least else 'at most'} {result.bar.ratio:g}",
            _verdict(result),
            result.title,
        )
        for result in results
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _figure(value: float, unit: str) -> str:
    return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.3f} {unit}"


def _verdict(result: Result) -> str:
    if result.met:
        return "met"
    return f"missed by {abs(result.ratio / result.bar.ratio - 1):.0%}"


def _plain(result: Result) -> dict[str, object]:
    return {
        "row": result.name,
        "what": result.title,
        "unit": result.unit,
        "seen": round(result.seen, 3),
        "floor": round(result.floor, 3),
        "ratio": round(result.ratio, 3),
        "ratios": [round(ratio, 3) for ratio in result.ratios],
        "bar": result.bar.ratio,
        "bar_is": "at least" if result.bar.at_least else "at most",
        "met": result.met,
    }


if __name__ == "__main__":
    sys.exit(main())
