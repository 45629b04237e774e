"""A relay between clients and the server, to lose connections the ways networks do."""

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

SOCKET = ".s.PGSQL.5432"


class _Pair:
    """One relayed connection."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.flowing = threading.Event()
        self.flowing.set()
        self.listens = False

    def close(self) -> None:
        self.flowing.set()
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Relay:
    """A Unix socket of its own that leads to the server's, as long as it is told to."""

    def __init__(self, url: str) -> None:
        """Relay to the database at `url`, on a server that listens on a Unix socket."""
        target = conninfo_to_dict(url)
        self._target = Path(str(target["host"])) / SOCKET
        self._folder = Path(tempfile.mkdtemp(prefix="stackbone-relay-"))
        self.url = make_conninfo(url, host=str(self._folder))
        self._pairs: list[_Pair] = []
        self._answers = threading.Event()
        self._answers.set()
        self._listener: socket.socket | None = None
        self.sent = 0
        """How many pieces of data clients have sent."""
        self.mend()

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._pairs)

    def mend(self) -> None:
        """Take connections (again)."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._folder / SOCKET))
        self._listener.listen(300)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """End all connections and refuse new ones."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
            (self._folder / SOCKET).unlink()
        self.drop()

    def drop(self) -> None:
        """End all connections; new ones are welcome."""
        for pair in list(self._pairs):
            pair.close()

    def stall_listener(self) -> None:
        """Let the connections that listen stand without a word, like half-open ones; all others work."""
        for pair in list(self._pairs):
            if pair.listens:
                pair.flowing.clear()

    def hold_answers(self) -> None:
        """Keep back whatever the server says."""
        self._answers.clear()

    def pass_answers(self) -> None:
        """Hand on what was kept back, and all that follows."""
        self._answers.set()

    def remove(self) -> None:
        """End everything."""
        self.pass_answers()
        self.cut()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._target))
            pair = _Pair(client, server)
            self._pairs.append(pair)
            for way in (self._ask, self._answer):
                threading.Thread(target=self._pump, args=(way, pair), daemon=True).start()

    def _pump(self, way: Callable[[_Pair], None], pair: _Pair) -> None:
        with contextlib.suppress(OSError):
            way(pair)
        pair.close()
        with contextlib.suppress(ValueError):
            self._pairs.remove(pair)

    def _ask(self, pair: _Pair) -> None:
        while data := pair.client.recv(65536):
            pair.flowing.wait()
            self.sent += 1
            pair.listens = pair.listens or b"LISTEN" in data
            pair.server.sendall(data)

    def _answer(self, pair: _Pair) -> None:
        while data := pair.server.recv(65536):
            pair.flowing.wait()
            self._answers.wait()
            pair.client.sendall(data)
