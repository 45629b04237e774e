"""A terminal with a command in it, for questions that only a person is asked."""

import os
import select
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

from tests.cli.conftest import PATIENCE, STACKBONE

# The command's own session, so that Ctrl-C typed into its terminal reaches it as from a keyboard.
_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A terminal that runs `stackbone`; standard output goes into a pipe."""

    def __init__(self, *arguments: str) -> None:
        """Start the command with these arguments."""
        self._keyboard, screen = os.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _OWN_TERMINAL, *STACKBONE, *arguments],
            stdin=screen,
            stdout=subprocess.PIPE,
            stderr=screen,
            start_new_session=True,
        )
        os.close(screen)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        os.close(self._keyboard)

    def sees(self, text: str) -> None:
        """Wait until the screen shows `text`."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert self._read(deadline), f"the screen never showed {text!r}: {self.shown!r}"

    def types(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._keyboard, keys)

    def ends(self) -> tuple[int, str]:
        """Wait until the command ends; return its exit code and what it printed into the pipe."""
        printed, _ = self._process.communicate(timeout=PATIENCE)
        while self._read(time.monotonic()):
            pass
        assert "Traceback" not in self.shown
        return self._process.returncode, printed.decode()

    def _read(self, deadline: float) -> bool:
        if not select.select([self._keyboard], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return False
        try:
            self.shown += os.read(self._keyboard, 4096).decode(errors="replace")
        except OSError:
            # Nobody holds the other end any more.
            return False
        return True
