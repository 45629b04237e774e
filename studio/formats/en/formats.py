"""English: 2 Dec 2026, 14:32:08."""

DATE_FORMAT = "j M Y"
MONTH_DAY_FORMAT = "j M"
