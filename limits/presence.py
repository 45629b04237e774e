"""How a process proves to the box that it lives: its listening session holds the lock of its id (Q7)."""

import os
import socket
import uuid
from typing import Final, Protocol

from limits import engine
from limits.errors import IdentityTakenError
from limits.pool import Connection, Database


class Presence(Protocol):
    """What a process is to the box."""

    def prove(self, connection: Connection, last_id: int | None) -> tuple[int, bool]:
        """Lock an id for the session of `connection`, `last_id` again where the box still knows it.

        Return the id and whether the lock is held already: the server may not have missed a former session yet.
        """


class Client:
    """A plain client: as old as its process, under any id."""

    def __init__(self, db: Database) -> None:
        """Join the box `db` when first asked to."""
        self._db = db

    def prove(self, connection: Connection, last_id: int | None) -> tuple[int, bool]:
        """Lock the id, a new one if the box has given the last one up."""
        held = last_id is not None and _lock(connection, last_id)
        # Read after the lock: from then on the box can't give the process up.
        if last_id is None or not _is_open(connection, last_id):
            last_id = engine.join("client", name=f"{socket.gethostname()}:{os.getpid()}", db=self._db)
            held = _lock(connection, last_id)
        return last_id, held


class Worker:
    """A worker: an identity that outlives its process, for one process at a time."""

    def __init__(self, name: str | None) -> None:
        """Claim the identity `name`, or the first number that is free."""
        self._wanted = name
        self._claim: Final = uuid.uuid4()
        self.name = name or ""
        """The identity, known from the first proof on."""

    def prove(self, connection: Connection, last_id: int | None) -> tuple[int, bool]:
        """Claim the identity; raises `IdentityTakenError` if another process has it, or took it meanwhile."""
        if last_id is None:
            row = connection.execute(
                "SELECT worker_id, worker_name FROM limits.claim_worker(%s, %s)", (self._wanted, self._claim)
            ).fetchone()
            assert row is not None
            if row["worker_id"] is None:
                raise IdentityTakenError(row["worker_name"])
            self.name = row["worker_name"]
            return row["worker_id"], True
        row = connection.execute("SELECT limits.reclaim_worker(%s, %s) AS answer", (last_id, self._claim)).fetchone()
        assert row is not None
        if row["answer"] == "passed_on":
            raise IdentityTakenError(self.name)
        return last_id, row["answer"] == "held"


def _lock(connection: Connection, process_id: int) -> bool:
    row = connection.execute(
        "SELECT pg_try_advisory_lock(%s, %s) AS held", (engine.PROCESS_LOCK_CLASS, process_id)
    ).fetchone()
    return row is not None and row["held"]


def _is_open(connection: Connection, process_id: int) -> bool:
    row = connection.execute("SELECT FROM limits.worker WHERE id = %s AND ended_at IS NULL", (process_id,))
    return row.fetchone() is not None
