"""What stands on every page around its content."""

from importlib.metadata import version
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import pgettext_lazy

THEME_COOKIE: Final = "stackbone_theme"
SYSTEM_THEME: Final = "system"
THEMES: Final = {
    SYSTEM_THEME: pgettext_lazy("theme", "System"),
    "light": pgettext_lazy("theme", "Light"),
    "dark": pgettext_lazy("theme", "Dark"),
}

_VERSION: Final = version("stackbone")


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the variables that `base.html` needs on every page (a context processor)."""
    theme = request.COOKIES.get(THEME_COOKIE)
    return {
        "environment": settings.STACKBONE_ENVIRONMENT,
        "version": _VERSION,
        "theme": theme if theme in THEMES else SYSTEM_THEME,
        "themes": THEMES,
    }
