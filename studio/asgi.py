"""The one way in: daphne serves this application, pages and sockets alike."""

import os
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter  # type: ignore[import-untyped]
from channels.security.websocket import AllowedHostsOriginValidator  # type: ignore[import-untyped]
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")

pages = get_asgi_application()


async def no_such_socket(scope: Any, receive: Any, send: Any) -> None:
    """Refuse a socket that no page of Studio opens."""
    await receive()
    await send({"type": "websocket.close", "code": 4404})


sockets = URLRouter([re_path("", no_such_socket)])  # type: ignore[arg-type]

application = ProtocolTypeRouter({"http": pages, "websocket": AllowedHostsOriginValidator(sockets)})
