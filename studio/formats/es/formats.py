"""Spanish: 2 dic 2026, 14:32:08, and 100.000 as browsers write it."""

DATE_FORMAT = "j b Y"
MONTH_DAY_FORMAT = "j b"
THOUSAND_SEPARATOR = "."
