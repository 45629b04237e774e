"""The runtime's tables, and what the engine learns of them: installed by `migrate`, after the engine's own."""

import logging
from pathlib import Path
from typing import Any, Final

import psycopg
import sqlalchemy
from dbos import DBOS
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

_SQL: Final = Path(__file__).with_name("dbos.sql")


def install(connection: psycopg.Connection[Any], conninfo: str) -> None:
    """Bring DBOS's schema up to the installed version, and our functions on it.

    Idempotent; two at once must be kept apart by the caller's lock. `conninfo` leads to the same database.
    """
    # It tells of each of its hundred migrations.
    logging.getLogger("dbos").setLevel(logging.WARNING)
    DBOS.migrate(url_of(conninfo))
    with connection.transaction():
        connection.execute(sql.SQL(_SQL.read_text(encoding="utf-8")))


def url_of(conninfo: str) -> str:
    """Return the address as a URL of SQLAlchemy's, which knows no other form; it may hold a password."""
    given = conninfo_to_dict(conninfo)
    database = given.pop("dbname", None)
    url = sqlalchemy.URL.create(
        "postgresql+psycopg",
        database=str(database) if database is not None else None,
        query={name: str(value) for name, value in given.items() if value is not None},
    )
    return url.render_as_string(hide_password=False)
