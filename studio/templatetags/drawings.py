"""The drawings that stand in pages: a limit's occupancy, its last hour, the meter of a hold. `{% load drawings %}`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.translation import gettext

from limits.queries import LimitState, Spark
from studio import bars, charts, wording

register = template.Library()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A rectangle as SVG draws it: where a line runs along its edge, the line lies inside."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@register.inclusion_tag("components/bar.html")
def bar(limit: LimitState, size: str = "list") -> dict[str, Any]:
    """Draw a limit's occupancy, with its sentence for who does not see it; size "list" or "detail"."""
    drawn = bars.bar(limit.capacity.effective, busy=limit.busy, reserved=limit.reserved, paused=limit.paused, size=size)
    body = {"y": drawn.top, "height": drawn.body}
    start = drawn.parts[0].x
    return {
        "bar": drawn,
        "size": size,
        "ground": None if drawn.segmented else _lined("ground", x=start, width=drawn.extent, **body),
        "cells": [
            (_lined if part.kind in (bars.FREE, bars.RESERVED) else _Box)(
                kind=part.kind, x=part.x, width=part.width, **body
            )
            for part in drawn.parts
            if drawn.segmented or part.kind != bars.FREE
        ],
        "outline": _lined("paused", x=0, y=0, width=drawn.extent + 2 * start, height=drawn.height)
        if drawn.paused
        else None,
        "sentence": _occupancy(limit),
    }


def _lined(kind: str, *, x: int, y: int, width: int, height: int) -> _Box:
    return _Box(kind=kind, x=x + 0.5, y=y + 0.5, width=width - 1, height=height - 1)


def _occupancy(limit: LimitState) -> str:
    if limit.reserved and limit.over:
        said = gettext("{busy} busy and {reserved} reserved of {capacity}, {over} over")
    elif limit.reserved:
        said = gettext("{busy} busy and {reserved} reserved of {capacity}")
    elif limit.over:
        said = gettext("{busy} busy of {capacity}, {over} over")
    else:
        said = gettext("{busy} busy of {capacity}")
    return said.format(
        busy=wording.grouped(limit.busy),
        reserved=wording.grouped(limit.reserved),
        capacity=wording.grouped(limit.capacity.effective),
        over=wording.grouped(limit.over),
    )


@register.inclusion_tag("components/sparkline.html")
def sparkline(sparks: Mapping[str, Sequence[Spark | None]], name: str) -> dict[str, Any]:
    """Draw what was held in the last hour, if anything is known; with the highest for who does not see it."""
    return {"spark": charts.sparkline(sparks.get(name, []))}


@register.inclusion_tag("components/meter.html")
def meter(passed: int | str, tone: str = "calm") -> dict[str, Any]:
    """Draw a meter of which `passed` pixels are filled (`bars.meter`); tone "calm", "near" or "over"."""
    width, height = bars.METER_SIZE
    return {"width": width, "height": height, "passed": passed, "tone": tone}
