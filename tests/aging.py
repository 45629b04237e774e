"""Time that only the real clock can make pass, or seem to have passed."""

from limits.pool import Database


def let_server_age(db: Database) -> None:
    """Wait until the server has been up for the 20 seconds in which a client may come back to it."""
    db.fetch(
        "SELECT pg_sleep(greatest(0, 20.1 - extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float))"
    )


def let_gone_vanish(db: Database) -> None:
    """Let the processes that the last pass found gone have been so for 20 seconds more, the server there all along."""
    let_server_age(db)
    db.fetch("UPDATE limits.worker SET gone_since = gone_since - interval '20 seconds' RETURNING id")
