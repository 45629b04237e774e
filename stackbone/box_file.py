"""The file in a workspace by which a running `stackbone dev` tells programs beside it where its box is."""

import json
from pathlib import Path
from typing import Final

BOX_FILE: Final = Path(".stackbone") / "box.json"
"""Below the workspace's folder; there while `stackbone dev` runs."""


def url_of_dev(workspace: Path) -> str | None:
    """Return the address of the workspace's running box; none where none runs, or the file can't be read."""
    try:
        url = json.loads((workspace / BOX_FILE).read_text(encoding="utf-8"))["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None
