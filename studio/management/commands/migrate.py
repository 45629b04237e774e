"""Django's `migrate`, made safe for two at once, and followed by the engine's SQL functions and the runtime's schema."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.utils import NotSupportedError, OperationalError

from limits import pool
from limits.install import install
from stackbone.runtimes import schema

LOCK: Final = (1818846567, 0)
"""The advisory lock of whoever migrates; a number beside those of the engine's own locks."""

RETRY_EVERY: Final = 0.1
"""Seconds between two looks whether it has ended."""


class Command(migrate.Command):
    """Apply migrations under a lock, then install the SQL functions that changed."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Connect before Django's checks do; raises `CommandError` for a server too old or not there."""
        try:
            connections[options["database"]].ensure_connection()
        except (OperationalError, NotSupportedError) as error:
            raise CommandError(f"can't migrate: {str(error).strip().splitlines()[0]}") from error
        return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate while no other process does."""
        connection = connections[options["database"]]
        with self._alone(connection):
            super().handle(*args, **options)
            if _is_complete(options):
                self._install_functions(connection, options["verbosity"])

    @contextmanager
    def _alone(self, connection: BaseDatabaseWrapper) -> Iterator[None]:
        # A session's lock: it outlives each migration's transaction and dies with the process.
        with connection.cursor() as cursor:
            waited = False
            # Asked again and again: a statement that waits is one that CREATE INDEX CONCURRENTLY waits for in turn.
            while not self._locked(cursor):
                if not waited:
                    self.stdout.write("Another migrate is running; waiting for it to end.")
                waited = True
                time.sleep(RETRY_EVERY)
        try:
            yield
        finally:
            if connection.is_usable():
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_unlock(%s, %s)", LOCK)

    def _locked(self, cursor: CursorWrapper) -> bool:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", LOCK)
        row = cursor.fetchone()
        return bool(row and row[0])

    def _install_functions(self, connection: BaseDatabaseWrapper, verbosity: int) -> None:
        changed = install(connection.connection)
        # The runtime's schema last: its functions are in use once they stand.
        schema.install(connection.connection, pool.database_url() or "")
        if verbosity >= 1 and changed:
            self.stdout.write(f"Installed {len(changed)} SQL functions.")


def _is_complete(options: dict[str, Any]) -> bool:
    # A plan, a check, a way back and a part must change nothing more.
    parts = ("plan", "check_unapplied", "prune", "app_label")
    return not any(options.get(name) for name in parts)
