"""Runs beside the scene of a bad hour: one that waits, one that holds and waits, ended ones, a stranded one."""

from typing import Final

from limits import engine, pool, rules
from tests.scene import ANA
from tests.studio.runs import know, record, start, turn, waits

WAITING: Final = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
HOLDING: Final = "16fd2706-8baf-433b-82eb-8c7fada847da"
FAILED: Final = "6fa459ea-ee8a-3ca4-894e-db77e160355e"
STRANDED: Final = "886313e1-3b8a-5372-9b90-0c9aee199e5d"


def make(box: pool.Database) -> int:
    """Add the runs; return the id of the worker that knows their workflows, once its lock is taken."""
    know("nightly_report")
    worker = know("place_call", "sync_partner")
    start("nightly_report", {"call_id": "2026-12-02"}, run_id=STRANDED)
    for n, status in enumerate(["SUCCESS", "SUCCESS", "CANCELLED", "SUCCESS"]):
        run_id = start("sync_partner" if n == 1 else "place_call", run_id=f"01HZ-{n}")
        record(box, run_id, 1, "dial_out")
        turn(box, run_id, status, output={"slot_id": "cJ6wq0vZ", "minutes": n})
    error = {"name": "SlotTimeoutError", "message": "no slot of 'voice-calls' within 30m"}
    start(run_id=FAILED)
    record(box, FAILED, 1, "Esperando hueco · voice-calls", error=error)
    turn(box, FAILED, "ERROR", error=error)
    for run_id in (HOLDING, WAITING):
        start(run_id=run_id, given={"call_id": "call_9f31c2", "tries": 5})
        record(box, run_id, 1, "look_up_number")
        turn(box, run_id, "PENDING")
    waits("webhook_retry", HOLDING, step=2, label="hook-17")
    waits("voice-calls", HOLDING, step=3, label="call_9f31c2")
    ended = waits("webhook_retry", WAITING, step=2, label="hook-18")
    engine.release(ended.id, actor=ANA)
    waits("voice-calls", WAITING, step=3, label="call_1b07aa")
    _at_the_scenes_time(box)
    return worker


def _at_the_scenes_time(box: pool.Database) -> None:
    # The runtime's clock is the server's; the scene's is ahead of it.
    box.fetch(
        """
        WITH c AS (SELECT (extract(epoch FROM limits.clock()) * 1000)::bigint - max(created_at) - %s AS shift
                   FROM dbos.workflow_status),
             s AS (UPDATE dbos.operation_outputs SET started_at_epoch_ms = started_at_epoch_ms + c.shift,
                          completed_at_epoch_ms = completed_at_epoch_ms + c.shift FROM c RETURNING 1)
        UPDATE dbos.workflow_status SET created_at = created_at + c.shift,
               started_at_epoch_ms = started_at_epoch_ms + c.shift, completed_at = completed_at + c.shift
        FROM c RETURNING 1
        """,
        [2 * rules.MINUTE],
    )
