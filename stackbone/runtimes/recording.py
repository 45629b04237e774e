"""How a run's calls, results and errors are stored: as JSON, so that a screen can read what it never unpickles.

What JSON can't carry exactly is pickled beside a text for people. An error that does not survive its own pickling is
read back as a `RecordedError` of the same words.
"""

import base64
import json
import math
import pickle
from typing import Any, Final

from dbos import Serializer

_TEXT_MAX: Final = 10_000


class RecordedError(Exception):
    """An error of a step, of which only type and message could be recorded."""


class Recording(Serializer):
    """The form in which the runtime stores what runs take, return and raise."""

    def name(self) -> str:
        """Return the name that is stored with each value."""
        return "stackbone"

    def serialize(self, data: Any) -> str:
        """Write a call's arguments, a result, or an error."""
        if isinstance(data, BaseException):
            return json.dumps(_written_error(data))
        if isinstance(data, dict) and data.keys() == {"args", "kwargs"} and isinstance(data["args"], tuple):
            call = {"args": list(data["args"]), "kwargs": data["kwargs"]}
            if _is_plain(call):
                return json.dumps(call)
        if _is_plain(data):
            return json.dumps({"recorded": "json", "value": data})
        return json.dumps({"recorded": "pickle", "text": repr(data)[:_TEXT_MAX], "pickle": _pickled(data)})

    def deserialize(cls, serialized_data: str) -> Any:
        """Read back what `serialize` wrote."""
        stored = json.loads(serialized_data)
        match stored.get("recorded"):
            case "json":
                return stored["value"]
            case "pickle":
                return _unpickled(stored["pickle"])
            case "error":
                if stored["pickle"] is None:
                    return RecordedError(f"{stored['name']}: {stored['message']}")
                return _unpickled(stored["pickle"])
            case _:
                return {"args": tuple(stored["args"]), "kwargs": stored["kwargs"]}


def _written_error(error: BaseException) -> dict[str, Any]:
    pickled = None
    try:
        text = _pickled(error)
        # Errors with constructors of their own can often be written but not read.
        if type(_unpickled(text)) is type(error):
            pickled = text
    except Exception:
        pickled = None
    data = getattr(error, "data", None)
    return {
        "recorded": "error",
        "name": type(error).__name__,
        "message": str(error),
        "data": data if _is_plain(data) else None,
        "pickle": pickled,
    }


def _is_plain(value: Any) -> bool:
    """Tell whether JSON gives back exactly this value."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    if kind is list:
        return all(_is_plain(each) for each in value)
    if kind is dict:
        return all(type(key) is str and _is_plain(each) for key, each in value.items())
    return value is None or kind in (str, int, bool)


def _pickled(value: Any) -> str:
    return base64.b64encode(pickle.dumps(value)).decode("ascii")


def _unpickled(text: str) -> Any:
    return pickle.loads(base64.b64decode(text))
