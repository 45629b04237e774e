#!/usr/bin/env python
"""Django's own commands for Studio: `python manage.py check`, `migrate`, `shell`."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run the command named on the command line with Studio's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studio.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
