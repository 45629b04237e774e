"""`python -m stackbone` is the command `stackbone`."""

from stackbone.cli import main

if __name__ == "__main__":
    main()
