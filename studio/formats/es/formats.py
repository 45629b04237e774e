"""Spanish: 2 dic 2026, 14:32:08, and 100.000 as browsers write it."""

DATE_FORMAT = "j b Y"
TIME_FORMAT = "H:i:s"
DATETIME_FORMAT = "j b Y, H:i:s"
SHORT_DATETIME_FORMAT = "j b H:i"
THOUSAND_SEPARATOR = "."
