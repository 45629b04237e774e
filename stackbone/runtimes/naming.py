"""Names by which the processes of a box find the runs: part of what is stored."""

from typing import Final

QUEUE: Final = "stackbone"
"""Queue, application and version of every run. The version never changes: one that did would strand waiting runs."""
WAITING_STEP: Final = "Esperando hueco · {limit}"
"""The step that a run shows while it waits for a slot (Q3)."""
