"""Who is at the other end of a request."""

import getpass
import socket

from django.http import HttpRequest

from limits.engine import Actor


def actor(request: HttpRequest) -> Actor:
    """Return whom the record names for a change made by this request.

    Without accounts only the person at this machine gets in: the operating system's user and host.
    """
    try:
        user = getpass.getuser()
    except OSError:
        # A user number without a name, as in some containers.
        user = "somebody"
    return Actor(name=f"{user}@{socket.gethostname()}", source="studio")
