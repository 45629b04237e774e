"""Two plain answers for programs that watch Studio."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from limits import queries
from limits.errors import BoxUnreachableError, NotMigratedError


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """Say that the process answers; asks nothing of the database."""
    return _plain("alive")


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Say whether the box's database answers and has its tables; 503 with the reason otherwise."""
    try:
        queries.limits()
    except (BoxUnreachableError, NotMigratedError) as error:
        return _plain(str(error), status=503)
    return _plain("ready")


def _plain(text: str, *, status: int = 200) -> HttpResponse:
    response = HttpResponse(f"{text}\n", content_type="text/plain", status=status)
    response["Cache-Control"] = "no-store"
    return response
