"""After every test of the engine the box must be in order."""

from collections.abc import Iterator

import pytest

from limits import engine, pool


@pytest.fixture(autouse=True)
def in_order(box: pool.Database) -> Iterator[None]:
    """Check the box's invariants at the end."""
    yield
    assert engine.check() == []
