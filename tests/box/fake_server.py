"""The first words of a PostgreSQL of another age: enough of its protocol for a client to read its version.

No package on the index brings a server that old for every machine the tests run on.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def _setting(name: str, value: str) -> bytes:
    return _message(b"S", f"{name}\0{value}\0".encode())


def _greet(connection: socket.socket, version: str) -> None:
    with connection:
        connection.recv(8192)
        settings = {
            "server_version": version,
            "client_encoding": "UTF8",
            "in_hot_standby": "off",
            "default_transaction_read_only": "off",
        }
        hello = _message(b"R", struct.pack("!i", 0)) + b"".join(_setting(*each) for each in settings.items())
        connection.sendall(hello + _message(b"K", struct.pack("!ii", 1, 1)) + _message(b"Z", b"I"))
        # A client that has read enough may hang up without a word.
        with contextlib.suppress(ConnectionError):
            while connection.recv(8192):
                connection.sendall(_message(b"C", b"SET\0") + _message(b"Z", b"I"))


@contextmanager
def server_of_version(version: str) -> Iterator[str]:
    """Listen as a PostgreSQL of that version, and yield the address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=_greet, args=(connection, version), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"postgresql://someone@127.0.0.1:{listener.getsockname()[1]}/box?sslmode=disable&gssencmode=disable"
        listener.shutdown(socket.SHUT_RDWR)
