"""The switch between light, dark and what the system says."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from studio.frame import SYSTEM_THEME, THEME_COOKIE, THEMES

YEAR = 365 * 24 * 60 * 60


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in a cookie and go back to the page it was chosen on.

    Form fields: `theme` (anything unknown counts as the system's), `next` (a path of this Studio).
    """
    back = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        back = reverse("limits")
    theme = request.POST.get("theme")
    response = HttpResponseRedirect(back, status=303)
    response.set_cookie(
        THEME_COOKIE,
        theme if theme in THEMES else SYSTEM_THEME,
        max_age=YEAR,
        httponly=True,
        samesite="Lax",
    )
    return response
