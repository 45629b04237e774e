"""The tables in the migrations are the tables of the models."""

from django.core.management import call_command

from limits import pool


def test_the_migrations_leave_nothing_of_the_models_out(box: pool.Database) -> None:
    # Exits, which fails the test, where a migration is missing. It asks the server's version
    # because of the generated column, so it stands here and not in `make lint`.
    call_command("makemigrations", check=True, dry_run=True, verbosity=1)
