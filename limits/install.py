"""Installing the SQL functions: one file of `sql/` each, reinstalled when its text has changed."""

import hashlib
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

SQL: Final = Path(__file__).parent / "sql"


def install(connection: psycopg.Connection[Any]) -> list[str]:
    """Install what changed since the last time, drop what is gone, and return the names of both.

    All in the transaction of `connection`; two at once must be kept apart by the caller's lock.
    """
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SQL.glob("*.sql"))}
    wanted = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    with connection.transaction(), connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        cursor.execute("SELECT name, checksum FROM limits.installed_function")
        installed: dict[str, str] = dict(cursor.fetchall())
        changed = [name for name in wanted | installed if wanted.get(name) != installed.get(name)]
        for name in changed:
            if name in files:
                _replace(cursor, name, files[name])
                cursor.execute(
                    "INSERT INTO limits.installed_function (name, checksum) VALUES (%s, %s)"
                    " ON CONFLICT (name) DO UPDATE SET checksum = excluded.checksum",
                    (name, wanted[name]),
                )
            else:
                _drop(cursor, _signatures(cursor, name))
                cursor.execute("DELETE FROM limits.installed_function WHERE name = %s", (name,))
    return changed


def _replace(cursor: psycopg.Cursor[Any], name: str, text: str) -> None:
    """Install a function in place of the one of that name, under the feet of whoever calls it just now.

    One that was dropped is missed by calls under way; only a new result or new names of parameters can't do without.
    """
    before = _signatures(cursor, name)
    try:
        with cursor.connection.transaction():
            cursor.execute(sql.SQL(text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)))
    except psycopg.errors.InvalidFunctionDefinition:
        _drop(cursor, before)
        cursor.execute(sql.SQL(text))
    # With other parameters it is another function, and the former one stands beside it.
    if _signatures(cursor, name) - before:
        _drop(cursor, before)


def _signatures(cursor: psycopg.Cursor[Any], name: str) -> set[str]:
    cursor.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc p"
        " WHERE p.pronamespace = 'limits'::regnamespace AND p.proname = %s",
        (name,),
    )
    return {signature for (signature,) in cursor.fetchall()}


def _drop(cursor: psycopg.Cursor[Any], signatures: set[str]) -> None:
    for signature in sorted(signatures):
        cursor.execute(sql.SQL("DROP FUNCTION IF EXISTS {}").format(sql.SQL(signature)))
