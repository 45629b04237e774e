"""The mutants stay what they are: each still breaks its file, and its test is still there."""

import re
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_the_mutant_applies_and_its_test_exists(mutant: Mutant) -> None:
    """The long form (`make mutants`) runs that test on the broken engine and demands that it fails."""
    assert mutant.applied(ROOT) != (ROOT / "limits" / "sql" / f"{mutant.file}.sql").read_text(encoding="utf-8")
    file, _, test = mutant.test.partition("::")
    source = (ROOT / "tests" / "engine" / file).read_text(encoding="utf-8")
    assert re.search(rf"^def {re.escape(test)}\(", source, re.MULTILINE)


def test_no_two_mutants_have_one_name() -> None:
    """A report names the mutant."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
