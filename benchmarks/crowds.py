"""Boxes as large as they get: many limits, and a limit with a long list of everything."""

from typing import Final

import psycopg

from benchmarks.load import load
from benchmarks.server import migrate
from limits import engine
from limits.pool import Database
from limits.rules import HOUR

ACTOR: Final = engine.Actor(name="bench", source="client")
EMPTY: Final = "empty"
CROWDED: Final = "crowded"


def box(db: Database, name: str, *, limits: int, busy: int = 0, waiting: int = 0) -> Database:
    """Make one more box on the server of `db`: so many limits, one of them empty and one with so many slots."""
    url = db.url.replace("/benchmark?", f"/{name}?")
    with psycopg.connect(db.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    migrate(url)
    # While it is filled nothing has to be safe on the disk.
    filling = Database(url + "&options=-c%20synchronous_commit%3Doff", application_name="benchmark")
    names = [f"limit-{number:04}" for number in range(limits - 2)]
    declared = dict.fromkeys([*names, EMPTY], engine.Declared(capacity=5, max_hold=HOUR))
    declared[CROWDED] = engine.Declared(capacity=max(1, busy), max_hold=HOUR)
    engine.declare("benchmark", declared, db=filling)
    for number, limit in enumerate(names):
        _fill(filling, limit, number)
    if busy:
        load(filling, CROWDED, state="busy", count=busy)
        load(filling, CROWDED, state="waiting", count=waiting)
    filling.close()
    return Database(url, application_name="benchmark")


def _fill(db: Database, limit: str, number: int) -> None:
    """Give a limit slots, by turns all and a queue, a few and none; and every fourth one overrides."""
    if number % 3 == 0:
        load(db, limit, state="busy", count=5, analyse=False)
        load(db, limit, state="waiting", count=4, analyse=False)
    elif number % 3 == 1:
        load(db, limit, state="busy", count=2, analyse=False)
    if number % 4 == 0:
        engine.edit(limit, actor=ACTOR, capacity=4, max_hold=2 * HOUR, db=db)
