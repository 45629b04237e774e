"""The one way in: daphne serves this application, pages and sockets alike."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter  # type: ignore[import-untyped]
from django.core.asgi import get_asgi_application
from django.urls import path, re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")

pages = get_asgi_application()

# Pages first: what sockets use needs Django set up.
from studio.live import NoSuchSocket, ScreenSocket  # noqa: E402
from studio.security import OwnSockets  # noqa: E402

sockets = URLRouter(
    [
        path("ws/studio/", ScreenSocket.as_asgi()),
        re_path("", NoSuchSocket.as_asgi()),
    ]
)

application = ProtocolTypeRouter({"http": pages, "websocket": OwnSockets(sockets)})
