"""Which Chromium the browser tests run, and how; as a program: does it start?"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, sync_playwright

# Where `make setup` puts a browser for somebody without a home of their own.
_OWN = Path(__file__).resolve().parent.parent / ".tools" / "browsers"
if _OWN.exists():
    os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(_OWN))

_QUIET = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
]


def launch_arguments() -> dict[str, Any]:
    """Return Playwright's launch arguments: the system's Chromium, or Playwright's own."""
    # Chromium's sandbox refuses to run as root.
    unsafe = ["--no-sandbox"] if os.geteuid() == 0 else []
    installed = shutil.which("chromium", path="/usr/bin")
    chosen = {"executable_path": installed} if installed else {}
    return {"args": [*_QUIET, *unsafe], **chosen}


def main() -> int:
    """Start the browser once; exit code 1 and the reason if it can't."""
    with sync_playwright() as playwright:
        try:
            playwright.chromium.launch(**launch_arguments()).close()
        except Error as error:
            print(str(error).strip(), file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
