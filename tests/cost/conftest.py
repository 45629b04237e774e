"""Two boxes beside each other on one server: one with next to nothing in it, one with 1,100,000 slots."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest

from benchmarks.load import load
from benchmarks.server import migrate
from limits import engine
from limits.pool import Database
from limits.rules import HOUR, PAGE_SIZE
from tests.postgres import Server

ACTOR = engine.Actor(name="tests", source="client")
LIMITS = {
    "held": engine.Declared(capacity=100_000, max_hold=HOUR),
    "queue": engine.Declared(capacity=1, max_hold=HOUR),
    "other": engine.Declared(capacity=20, max_hold=HOUR),
    "brief": engine.Declared(capacity=20, max_hold=1),
    "both": engine.Declared(capacity=1, max_hold=HOUR),
}
HELD, WAITING = 99_990, 1_000_000


@dataclass(frozen=True, slots=True)
class Boxes:
    """The two, each over one connection, so that what a session plans and counts is all in one place."""

    empty: Database
    loaded: Database


def make_box(server: Server, name: str) -> Database:
    """Create and migrate a database with `LIMITS`; its commits wait for no disk, that only hides what they cost."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        connection.execute(f'CREATE DATABASE "{name}"')
    migrate(server.url(name))
    database = Database(server.url(name) + "&options=-c%20synchronous_commit%3Doff", size=1)
    engine.declare("tests", LIMITS, db=database)
    return database


def drop_box(server: Server, database: Database, name: str) -> None:
    """Remove what `make_box` made."""
    database.close()
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def ask(db: Database, limit: str) -> engine.Asked:
    """Ask for a slot under a key that nobody used."""
    return engine.request(limit, key=uuid.uuid4().hex, db=db)


def give_back(db: Database, slot: engine.Asked) -> None:
    """Release the slot; it must have been held."""
    assert engine.release(str(slot.slot_id), actor=ACTOR, db=db).released


@pytest.fixture(scope="session")
def boxes(server: Server) -> Iterator[Boxes]:
    """Lend a box with a page of slots in each list, and one with 100,000 held and 1,000,000 waiting."""
    both = Boxes(make_box(server, "test_cost_empty"), make_box(server, "test_cost_loaded"))
    for db, held, waiting in ((both.empty, PAGE_SIZE + 1, PAGE_SIZE + 1), (both.loaded, HELD, WAITING)):
        load(db, "held", state="busy", count=held)
        load(db, "queue", state="busy", count=1)
        load(db, "queue", state="waiting", count=waiting)
        load(db, "both", state="busy", count=PAGE_SIZE + 1)
        load(db, "both", state="waiting", count=PAGE_SIZE + 1)
    yield both
    drop_box(server, both.empty, "test_cost_empty")
    drop_box(server, both.loaded, "test_cost_loaded")
