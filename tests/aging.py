"""Time that only the real clock can make pass, or seem to have passed."""

from limits.pool import Database


def let_server_age(db: Database, seconds: float = 20) -> None:
    """Wait until the server has been up for the time, 20 seconds for a client, in which one may come back to it."""
    db.fetch(
        "SELECT pg_sleep(greatest(0, %s - extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float))",
        [seconds + 0.1],
    )


def let_gone_vanish(db: Database) -> None:
    """Let the processes that the last pass found gone have been so for 20 seconds more, the server there all along."""
    let_server_age(db)
    db.fetch("UPDATE limits.worker SET gone_since = gone_since - interval '20 seconds' RETURNING id")
