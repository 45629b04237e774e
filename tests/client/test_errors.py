"""The errors that leave the process: stored, copied, loaded twice."""

import copy
import importlib.util
import pickle
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from limits import errors
from stackbone.client import SlotTimeoutError


def second_copy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load the module of errors once more, under another name."""
    spec = importlib.util.spec_from_file_location("another_copy", errors.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "another_copy", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_timeout_survives_storage(again: Callable[[SlotTimeoutError], SlotTimeoutError]) -> None:
    """Q4, case 61: limit, timeout and message are kept."""
    error = again(SlotTimeoutError("voice-calls", 1_800_000))
    assert SlotTimeoutError.is_(error)
    assert (error.limiter, error.timeout) == ("voice-calls", 1_800_000)
    assert str(error) == "no slot of limit 'voice-calls' became free within 1800000 ms"


def test_a_timeout_is_recognised_across_copies_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Q4, case 61: either copy knows the other's, and a subclass."""
    other = second_copy(monkeypatch).SlotTimeoutError
    for error in (SlotTimeoutError("a", 5), other("a", 5), type("Own", (SlotTimeoutError,), {})("a", 5)):
        assert SlotTimeoutError.is_(error)
        assert other.is_(error)


class Impostor:
    """Says of itself what it is not."""

    __class__ = SlotTimeoutError  # type: ignore[assignment]


NAMESAKE = type("SlotTimeoutError", (Exception,), {"__module__": None})


@pytest.mark.parametrize(
    "other",
    [
        None,
        "SlotTimeoutError",
        5,
        TimeoutError(),
        Exception("a", 5),
        SlotTimeoutError,
        NAMESAKE,
        NAMESAKE(),
        Impostor(),
    ],
    ids=["none", "text", "number", "builtin", "exception", "class", "namesake-class", "namesake", "impostor"],
)
def test_nothing_else_is_taken_for_a_timeout(other: object) -> None:
    """Q4, case 61: false, and never an error."""
    assert not SlotTimeoutError.is_(other)
