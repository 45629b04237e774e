"""Studio's settings refuse odd values by name, before anything is served."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from studio import environment

VARIABLES = (
    "STACKBONE_DATABASE_URL", "DATABASE_URL", "STACKBONE_SECRET_KEY", "STACKBONE_SECRET_KEY_FILE",
    "STACKBONE_ALLOWED_HOSTS", "STACKBONE_ENVIRONMENT",
)  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def test_a_socket_file_in_the_query_is_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded server listens on a socket file alone."""
    monkeypatch.setenv("STACKBONE_DATABASE_URL", "postgresql://stackbone@/box?host=%2Fsome%20where%2Frun")
    entry = environment.database()
    assert (entry["NAME"], entry["USER"], entry["HOST"]) == ("box", "stackbone", "/some where/run")
    assert "PORT" not in entry


def test_every_part_of_an_address_reaches_django(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Django has no name for goes to libpq as it is."""
    monkeypatch.setenv("DATABASE_URL", "postgres://u:p%40ss@db.example:6432/name?sslmode=require")
    entry = environment.database()
    assert (entry["USER"], entry["PASSWORD"], entry["HOST"], entry["PORT"]) == ("u", "p@ss", "db.example", "6432")
    assert entry["OPTIONS"]["sslmode"] == "require"
    assert entry["OPTIONS"]["target_session_attrs"] == "read-write"


def test_stackbones_own_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host's general variable must not win over the particular one; an empty one counts as none."""
    monkeypatch.setenv("DATABASE_URL", "postgresql:///general")
    assert environment.database()["NAME"] == "general"
    monkeypatch.setenv("STACKBONE_DATABASE_URL", "")
    assert environment.database()["NAME"] == "general"
    monkeypatch.setenv("STACKBONE_DATABASE_URL", "postgresql:///particular")
    assert environment.database()["NAME"] == "particular"


def test_without_an_address_the_settings_still_load() -> None:
    """Tools read the settings where no database is."""
    assert environment.database() == {"ENGINE": "django.db.backends.postgresql", "NAME": ""}


@pytest.mark.parametrize("address", ["mysql://root:hunter2@db/x", "hunter2", "postgresql://a:hunter2@h/x?odd=1"])
def test_an_address_that_is_none_is_refused_without_repeating_it(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """It may hold a password, and errors end up in logs."""
    monkeypatch.setenv("DATABASE_URL", address)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: must be a PostgreSQL address") as caught:
        environment.database()
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_secret_is_the_variable_then_the_file_then_a_new_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A key that outlives the process keeps what it signed readable."""
    assert environment.secret_key() != environment.secret_key()
    file = tmp_path / "key"
    file.write_text("f" * 40 + "\n")
    monkeypatch.setenv("STACKBONE_SECRET_KEY_FILE", str(file))
    assert environment.secret_key() == "f" * 40
    monkeypatch.setenv("STACKBONE_SECRET_KEY", "k" * 40)
    assert environment.secret_key() == "k" * 40


def test_a_short_secret_and_an_unreadable_file_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message names the variable and the bound, never the key."""
    monkeypatch.setenv("STACKBONE_SECRET_KEY_FILE", str(tmp_path / "absent"))
    with pytest.raises(ImproperlyConfigured, match="STACKBONE_SECRET_KEY_FILE: can't be read"):
        environment.secret_key()
    monkeypatch.setenv("STACKBONE_SECRET_KEY", "changeme")
    with pytest.raises(ImproperlyConfigured, match="STACKBONE_SECRET_KEY: must be at least 32 characters, got 8"):
        environment.secret_key()


def test_loopback_names_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """S7: the default, and any choice among the machine's own names."""
    assert environment.allowed_hosts() == ["127.0.0.1", "localhost", "[::1]"]
    monkeypatch.setenv("STACKBONE_ALLOWED_HOSTS", " localhost , 127.0.0.2,[::1]")
    assert environment.allowed_hosts() == ["localhost", "127.0.0.2", "[::1]"]


@pytest.mark.parametrize(
    "hosts", ["", "*", "studio.example.com", "localhost,evil.example", ".localhost", "0.0.0.0", "[::]", "[localhost]"]
)
def test_any_other_host_is_refused_until_accounts_exist(monkeypatch: pytest.MonkeyPatch, hosts: str) -> None:
    """S7: nobody without an account sees anything, so nobody from elsewhere may come in yet."""
    monkeypatch.setenv("STACKBONE_ALLOWED_HOSTS", hosts)
    with pytest.raises(ImproperlyConfigured, match="STACKBONE_ALLOWED_HOSTS: must be loopback names"):
        environment.allowed_hosts()


@pytest.mark.parametrize("name", ["", "  ", "x" * 41, "two\nlines"])
def test_an_environment_name_that_no_top_bar_can_show_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The name keeps production from being mistaken for something else."""
    assert environment.environment_name() == "local"
    monkeypatch.setenv("STACKBONE_ENVIRONMENT", name)
    with pytest.raises(ImproperlyConfigured, match="STACKBONE_ENVIRONMENT: must be 1 to 40 printable characters"):
        environment.environment_name()
