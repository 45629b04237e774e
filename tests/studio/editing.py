"""What the tests of Edit limit share: the limit they edit, and a save."""

from typing import Any

from django.test import Client

from limits import queries
from limits.queries import LimitState
from tests.studio.read import fields

PATH = "/limits/calls/edit/"


def calls() -> LimitState:
    state = queries.limit("calls")
    assert state is not None
    return state


def save(studio: Client, **typed: str) -> Any:
    """Open the form, change what is given, and press Save."""
    return studio.post(PATH, fields(studio.get(PATH)) | typed | {"save": "1"})
