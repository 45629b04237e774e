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
            _drop(cursor, name)
        for name in changed:
            if name in files:
                cursor.execute(sql.SQL(files[name]))
                cursor.execute(
                    "INSERT INTO limits.installed_function (name, checksum) VALUES (%s, %s)", (name, wanted[name])
                )
    return changed


def _drop(cursor: psycopg.Cursor[Any], name: str) -> None:
    # A function whose result changed can't be replaced, only dropped and made again. Bodies are bound by name.
    cursor.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc p"
        " WHERE p.pronamespace = 'limits'::regnamespace AND p.proname = %s",
        (name,),
    )
    for (signature,) in cursor.fetchall():
        cursor.execute(sql.SQL("DROP FUNCTION {}").format(sql.SQL(signature)))
    cursor.execute("DELETE FROM limits.installed_function WHERE name = %s", (name,))
