"""How limit names, fields, runs and workflows are written in addresses."""

from typing import Final
from urllib.parse import quote

_IN_PATH: Final = "!$&'()*+,;=/~:@"
"""Signs that stand for themselves in a path."""


class LimitNameConverter:
    """A limit's name in a path.

    Browsers fold the path segments `.` and `..`, so a name made of dots alone carries a `~` before
    it, a sign no name can have. More is let in than names may hold, so that a slip such as a
    capital letter meets the page with near names; control characters are not.
    """

    regex = "[^/]{1,100}"

    def to_python(self, value: str) -> str:
        """Return the name; `ValueError`, which Django takes for "no such page", for odd signs."""
        if not value.isprintable():
            raise ValueError("a limit's name is printable")
        bare = value.removeprefix("~")
        return bare if _only_dots(bare) else value

    def to_url(self, value: str) -> str:
        """Return the path segment for the name."""
        return f"~{value}" if _only_dots(value) else value


class TextConverter:
    """The id of a run or the name of a workflow in a path: any text, since programs choose both.

    One made of dots alone carries a `~` more, as with limits.
    """

    regex = r"(?s:.+)"

    def to_python(self, value: str) -> str:
        """Return the text."""
        return value[1:] if value.startswith("~") and _only_dots(value.lstrip("~")) else value

    def to_url(self, value: str) -> str:
        """Return the part of the path for the text."""
        return f"~{value}" if _only_dots(value.lstrip("~")) else value


def run_path(run_id: str) -> str:
    """Return what stands for a run in the address of its page, as `reverse` would write it."""
    return quote(TextConverter().to_url(run_id), safe=_IN_PATH)


class FieldConverter:
    """A field of a limit, with a hyphen in addresses: `capacity`, `max-hold`."""

    regex = "capacity|max-hold"

    def to_python(self, value: str) -> str:
        """Return the field as the engine names it."""
        return value.replace("-", "_")

    def to_url(self, value: str) -> str:
        """Return the path segment for the field."""
        return value.replace("_", "-")


def _only_dots(text: str) -> bool:
    return text != "" and text.strip(".") == ""
