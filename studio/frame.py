"""What stands on every page around its content."""

from importlib.metadata import version
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest

THEME_COOKIE: Final = "stackbone_theme"
THEMES: Final = ("system", "light", "dark")

_VERSION: Final = version("stackbone")


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the variables that `base.html` needs on every page (a context processor)."""
    theme = request.COOKIES.get(THEME_COOKIE)
    return {
        "environment": settings.STACKBONE_ENVIRONMENT,
        "version": _VERSION,
        "theme": theme if theme in THEMES else THEMES[0],
        "themes": THEMES,
    }
