"""What runs take, return and raise survives storage."""

import copy
import importlib.util
import json
import pickle
import sys
from dataclasses import dataclass

import pytest

from limits import errors
from limits.errors import SlotTimeoutError
from stackbone.runtimes.recording import RecordedError, Recording


@dataclass
class Point:
    x: int


class Awkward(Exception):
    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


VALUES = [None, 0, 1.5, "text \0 \ud800", [1, {"a": None}], (1, 2), {1: 2}, float("inf"), Point(3), b"bytes"]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    """Readable JSON where that is exact, pickled where it is not."""
    stored = Recording().serialize(value)
    back = Recording().deserialize(stored)
    assert back == value
    assert type(back) is type(value)
    assert json.loads(stored)["recorded"] in ("json", "pickle")


def test_arguments_come_back_as_they_were() -> None:
    """A child's call is stored in the same form."""
    call = {"args": ({"a": 1},), "kwargs": {}}
    assert Recording().deserialize(Recording().serialize(call)) == call


def test_an_error_comes_back_or_says_what_it_was() -> None:
    """Case 61: one that can't be unpickled is known by its type and message."""
    back = Recording().deserialize(Recording().serialize(SlotTimeoutError("calls", 500)))
    assert SlotTimeoutError.is_(back)
    assert (back.limiter, back.timeout) == ("calls", 500)
    lost = Recording().deserialize(Recording().serialize(Awkward(1, 2)))
    assert isinstance(lost, RecordedError)
    assert str(lost) == "Awkward: 1 and 2"


def test_the_timeout_is_known_across_copies_and_modules() -> None:
    """Q4, case 61: by pickle, copy and a second load of its module; never for anything else."""
    error = SlotTimeoutError("calls", 500)
    spec = importlib.util.spec_from_file_location("other_errors", errors.__file__)
    assert spec is not None
    assert spec.loader is not None
    other = importlib.util.module_from_spec(spec)
    sys.modules["other_errors"] = other
    try:
        spec.loader.exec_module(other)
        for each in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert SlotTimeoutError.is_(each)
            assert other.SlotTimeoutError.is_(each)
            assert (each.limiter, each.timeout, str(each)) == ("calls", 500, str(error))
        assert json.loads(json.dumps(error.data)) == {"limiter": "calls", "timeout": 500}
        assert SlotTimeoutError.is_(other.SlotTimeoutError("calls", 1))
    finally:
        del sys.modules["other_errors"]
    for each in (None, "SlotTimeoutError", TimeoutError(), SlotTimeoutError, 5):
        assert not SlotTimeoutError.is_(each)
