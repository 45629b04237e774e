# Each target sees to what it needs; none asks anything, and what is done already is quick.
.PHONY: setup environment browser dev test proof lint bench mutants messages screens
MAKEFLAGS += --no-print-directory

setup: environment browser

environment:
	@scripts/environment

browser: environment
	@scripts/browser

# The main job: PostgreSQL, migrations, the example workspace, Studio at http://127.0.0.1:8000/
dev: environment
	@exec scripts/dev

# An hour at the most; a test that hangs ends the run earlier, with the place where it stood.
TIME_BOX := $(if $(shell command -v timeout),timeout --foreground -s INT -k 60 3600)

test: setup
	$(TIME_BOX) .venv/bin/pytest --durations=10

# The long form of the races and of the state machine: ten thousand pairs at each capacity, processes killed at random.
proof: environment
	STACKBONE_LONG_PROOFS=1 .venv/bin/pytest -o faulthandler_timeout=0 tests/engine/test_races.py tests/engine/test_state_machine.py tests/workflows/test_replays.py

lint: environment
	.venv/bin/ruff check --quiet .
	.venv/bin/ruff format --quiet --check .
	.venv/bin/mypy limits stackbone studio
	.venv/bin/lint-imports --no-logo
	find templates -name '*.html' -exec .venv/bin/djade --check {} +
	.venv/bin/djlint --quiet --lint --profile=django templates
	scripts/uv lock --quiet --check --python .venv/bin/python

# The engine against the server's floor, a hand-over between runs against the runtime's own step and queue, screens of
# a full box against those of an empty one, and the way from a commit to 200 open screens.
bench: environment
	.venv/bin/python -m benchmarks
	.venv/bin/python -m benchmarks.workflows
	.venv/bin/python -m benchmarks.screens
	.venv/bin/python -m benchmarks.live

# Break the SQL in every way we thought of; each break must be caught by its test.
mutants: environment
	.venv/bin/python -m tests.mutants

# Collect Studio's texts into the Spanish catalogue and compile it; needs GNU gettext. Translate, then run it again.
messages: environment
	.venv/bin/python manage.py makemessages --locale es --no-location --no-wrap --no-obsolete --ignore 'tests/*' --ignore 'benchmarks/*' --ignore 'scripts/*' --ignore 'stackbone/*' --ignore 'examples/*' --ignore 'static/*'
	.venv/bin/python manage.py compilemessages --locale es --ignore '.*'

# Photograph Studio's screens over realistic data, for docs/screens.
screens: environment browser
	.venv/bin/python scripts/screens.py
