"""The numbers of the product's rules, each in one place.

Durations are whole milliseconds, like every duration between Python and the database.
"""

from typing import Final

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

# A sync locks every limit, those no longer declared too. PostgreSQL's lock table, as it comes, has room for about
# 10,000 of these locks: two configs one after the other fit.
LIMITS_MAX: Final = 5_000
CAPACITY_MAX: Final = 100_000
MAX_HOLD_MAX: Final = 30 * DAY
TIMEOUT_DEFAULT: Final = 24 * HOUR
TIMEOUT_MAX: Final = 365 * DAY
NAME_LENGTH_MAX: Final = 64
LABEL_LENGTH_MAX: Final = 200
KEY_LENGTH_MAX: Final = 200
RUN_ID_LENGTH_MAX: Final = 150
REASON_LENGTH_MAX: Final = 500

RESERVATION: Final = 2 * MINUTE
SWEEP_EVERY: Final = 15 * SECOND
CLIENT_GONE_AFTER: Final = 20 * SECOND
WORKER_GONE_AFTER: Final = 60 * SECOND
NOT_HANDING_OUT_AFTER: Final = 30 * SECOND
# Two passes of the sweep: a slot still busy so long after its max hold is an anomaly.
OVERDUE_AFTER: Final = 2 * SWEEP_EVERY

RETENTION_DAYS: Final = 30
PAGE_SIZE: Final = 100
