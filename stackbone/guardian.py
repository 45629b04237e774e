"""The guardian of `stackbone dev`'s processes; a script of its own, its standard input a pipe from the supervisor.

Lines `+ PID SIGNAL` and `- PID` say which process groups to watch over. When the pipe ends before they all did, the
supervisor was killed: each group left gets its signal, so that nothing holds the port or the database any longer.
"""

import os
import signal
import sys
from collections.abc import Iterable


def main(lines: Iterable[str]) -> None:
    """Read the pipe to its end, then signal what is left of the groups."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups: dict[int, int] = {}
    for line in lines:
        match line.split():
            case ["+", pid, sign]:
                groups[int(pid)] = int(sign)
            case ["-", pid]:
                groups.pop(int(pid), None)
    for group, number in reversed(groups.items()):
        try:
            os.killpg(group, number)
        except OSError:
            continue


if __name__ == "__main__":
    main(sys.stdin)
