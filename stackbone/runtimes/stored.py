"""What the runtime stored of a run, as JSON values and text: read without a workflow's code, and never unpickled.

It is written in two forms: by `recording`, and portably where a run was started from outside a worker.
"""

import json
from typing import Any


def input_of(stored: str | None) -> Any:
    value = value_of(stored)
    # A call's arguments: in the portable form, or in our own; a workflow takes one.
    if isinstance(value, dict):
        for key in ("positionalArgs", "args"):
            if isinstance(value.get(key), list):
                return value[key][0] if value[key] else None
    return value


def value_of(stored: str | None) -> Any:
    if stored is None:
        return None
    try:
        value = json.loads(stored)
    except (ValueError, RecursionError):
        return None
    return value.get("value", value.get("text")) if isinstance(value, dict) and "recorded" in value else value


def error_of(stored: str | None) -> tuple[str | None, Any]:
    if stored is None:
        return None, None
    try:
        value = json.loads(stored)
        return f"{value['name']}: {value['message']}", value.get("data")
    except (ValueError, RecursionError, KeyError, TypeError):
        return "the error can't be read", None
