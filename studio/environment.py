"""Read Studio's settings from the environment; an odd value is refused by name, never guessed at."""

import ipaddress
import os
import secrets
from pathlib import Path
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
SECRET_LENGTH_MIN: Final = 32
ENVIRONMENT_LENGTH_MAX: Final = 40
CONNECT_TIMEOUT: Final = 4
"""Seconds, like the engine's own pool."""

# What Django wants under a name of its own; all else libpq understands goes in OPTIONS.
_DJANGO_NAMES: Final = {
    "dbname": "NAME",
    "user": "USER",
    "password": "PASSWORD",
    "host": "HOST",
    "port": "PORT",
}


def database() -> dict[str, Any]:
    """Return Django's entry for the box's database.

    Without an address in the environment the entry names no database: importing the settings
    works, the first query says what is missing. Raises `ImproperlyConfigured` for an address
    that is none; the message never repeats it, since it may hold a password.
    """
    variable = next(
        (v for v in ("STACKBONE_DATABASE_URL", "DATABASE_URL") if os.environ.get(v)),
        None,
    )
    entry: dict[str, Any] = {"ENGINE": "django.db.backends.postgresql", "NAME": ""}
    if variable is None:
        return entry
    try:
        parts = conninfo_to_dict(os.environ[variable])
    except ProgrammingError:
        raise ImproperlyConfigured(
            f"{variable}: must be a PostgreSQL address, like postgresql://user@host/name"
        ) from None
    options = {"connect_timeout": CONNECT_TIMEOUT, "target_session_attrs": "read-write"}
    for name, value in parts.items():
        if name in _DJANGO_NAMES:
            entry[_DJANGO_NAMES[name]] = str(value)
        else:
            options[name] = value
    # As libpq does: a database without a name is called like its user.
    entry["NAME"] = entry["NAME"] or entry.get("USER", "")
    return entry | {"OPTIONS": options}


def secret_key() -> str:
    """Return `STACKBONE_SECRET_KEY`, else what `STACKBONE_SECRET_KEY_FILE` holds, else a new one.

    A new one lasts as long as the process: enough for commands and a single Studio, where a
    restart loses only a message that was about to be shown. Raises `ImproperlyConfigured` for
    a key of under 32 characters or a file that can't be read.
    """
    variable = "STACKBONE_SECRET_KEY"
    key = os.environ.get(variable)
    if not key and (file := os.environ.get("STACKBONE_SECRET_KEY_FILE")):
        variable = "STACKBONE_SECRET_KEY_FILE"
        try:
            key = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{variable}: can't be read: {error}") from error
    elif not key:
        return secrets.token_urlsafe(48)
    if len(key) < SECRET_LENGTH_MIN:
        raise ImproperlyConfigured(f"{variable}: must be at least {SECRET_LENGTH_MIN} characters, got {len(key)}")
    return key


def allowed_hosts() -> list[str]:
    """Return the host names Studio answers to: `STACKBONE_ALLOWED_HOSTS`, by default the loopback ones.

    Raises `ImproperlyConfigured` for any other: without accounts nobody but the person at this
    machine may come in.
    """
    given = os.environ.get("STACKBONE_ALLOWED_HOSTS")
    if given is None:
        return list(LOOPBACK)
    hosts = [host.strip() for host in given.split(",")]
    for host in hosts:
        if not _is_loopback_name(host):
            raise ImproperlyConfigured(
                "STACKBONE_ALLOWED_HOSTS: must be loopback names until Studio has accounts"
                f" ({', '.join(LOOPBACK)}; commas between), got {host!r}"
            )
    return hosts


def environment_name() -> str:
    """Return `STACKBONE_ENVIRONMENT`, the name every page shows; by default "local"."""
    name = os.environ.get("STACKBONE_ENVIRONMENT", "local").strip()
    if not name or len(name) > ENVIRONMENT_LENGTH_MAX or not name.isprintable():
        raise ImproperlyConfigured(
            f"STACKBONE_ENVIRONMENT: must be 1 to {ENVIRONMENT_LENGTH_MAX} printable characters, got {name[:60]!r}"
        )
    return name


def is_loopback_address(text: str) -> bool:
    """Tell whether `text` is an IP address of this machine's own loopback."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _is_loopback_name(host: str) -> bool:
    return host == "localhost" or is_loopback_address(
        host[1:-1] if host.startswith("[") and host.endswith("]") else host
    )
