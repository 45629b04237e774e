"""Who is at the other end of a request or a socket."""

import getpass
import logging
import socket
from typing import Any, Final
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier  # type: ignore[import-untyped]
from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from limits.engine import Actor
from studio.environment import is_loopback_address

log = logging.getLogger(__name__)

_PORTS: Final = {"http": "80", "https": "443"}


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


class OwnSockets:
    """Let in sockets of Studio's own pages alone: same host, same port, from this machine's loopback.

    Browsers let any site open a socket to anywhere, cookies and all, and say only in `Origin` whose page it is. The
    port counts: other programs of this machine are other sites.
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the socket on, or refuse it before it is open."""
        headers = {name: value.decode("latin1") for name, value in scope["headers"]}
        origin, host = headers.get(b"origin", ""), headers.get(b"host", "")
        peer = (scope.get("client") or [""])[0]
        if _is_own(origin, host) and (not peer or is_loopback_address(peer)):
            await self.application(scope, receive, send)
            return
        log.warning(
            "socket refused: Origin %a is not the address it came to (Host %a, from %a); a proxy must pass Host on"
            " with its port, and STACKBONE_ALLOWED_HOSTS must name the host",
            origin[:200],
            host[:200],
            peer,
        )
        await WebsocketDenier()(scope, receive, send)


def _is_own(origin: str, host: str) -> bool:
    try:
        page = urlsplit(origin)
        page_port = str(page.port or _PORTS[page.scheme])
    except (ValueError, KeyError):
        return False
    domain, port = split_domain_port(host)
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    page_domain, _ = split_domain_port(page.netloc)
    return page_domain == domain and page_port == (port or _PORTS[page.scheme])
