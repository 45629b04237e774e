"""Studio's pages: a function for each thing an operator does or reads."""

from django.http import HttpResponseRedirect
from django.urls import reverse


def see_other(name: str, *args: object) -> HttpResponseRedirect:
    """Send the browser to the page of that URL name with a GET (303), after a POST that was done."""
    return HttpResponseRedirect(reverse(name, args=args), status=303)
