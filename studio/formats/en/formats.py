"""English: 2 Dec 2026, 14:32:08."""

DATE_FORMAT = "j M Y"
TIME_FORMAT = "H:i:s"
DATETIME_FORMAT = "j M Y, H:i:s"
SHORT_DATETIME_FORMAT = "j M H:i"
