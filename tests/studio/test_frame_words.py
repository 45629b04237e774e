"""Figures, instants, states and addresses read the same everywhere."""

from datetime import UTC, datetime, timedelta

import pytest
from django.http import Http404
from django.template import Context, Template
from django.urls import resolve, reverse

from limits.queries import LimitState, Pause, Setting
from limits.rules import DAY, HOUR, MINUTE, SECOND
from limits.wording import clock
from studio import outcomes, wording
from studio.templatetags import studio as tags

NOW = datetime(2026, 12, 2, 14, 32, 8, 250_000, tzinfo=UTC)


def setting(effective: int, override: int | None = None) -> Setting:
    return Setting(
        effective=effective if override is None else override, declared=effective, override=override,
        override_by=None if override is None else "<ana>", override_at=None if override is None else NOW,
        override_reason=None,
    )  # fmt: skip


def limit(**changes: object) -> LimitState:
    usual = {
        "name": "calls", "declared": True, "capacity": setting(5), "max_hold": setting(45 * MINUTE), "busy": 0,
        "reserved": 0, "waiting": 0, "pause": None, "oldest_asked_at": None, "next_expiry": None, "changed_at": NOW,
        "revision": 1, "now": NOW,
    }  # fmt: skip
    return LimitState(**(usual | changes))  # type: ignore[arg-type]


def rendered(template: str, **context: object) -> str:
    return Template("{% load drawings studio %}" + template).render(Context(context))


@pytest.mark.parametrize(
    ("length", "figure", "short"),
    [
        (0, "0s", "0s"),
        (999, "0s", "0s"),
        (14 * SECOND, "14s", "14s"),
        (12 * MINUTE + 4 * SECOND, "12m 04s", "12m"),
        (HOUR - 1, "59m 59s", "59m"),
        (90 * MINUTE + 5 * SECOND, "1h 30m", "1h"),
        (HOUR, "1h 0m", "1h"),
        (2 * DAY + 4 * HOUR + MINUTE, "2d 4h", "2d"),
    ],
)
def test_durations_take_two_units_at_most(length: int, figure: str, short: str) -> None:
    """S1: an elapsed time is read at a glance; a begun second does not count."""
    assert tags.duration(length) == figure
    assert tags.duration_short(length) == short


def test_none_reads_as_a_dash_everywhere() -> None:
    """S1: what does not apply is not zero."""
    assert tags.duration(None) == tags.duration_short(None) == tags.elapsed_to(None, NOW) == "–"
    assert tags.label(None) == tags.ident("") == tags.instant(None) == "–"


def test_a_time_that_has_not_come_counts_as_nothing_passed() -> None:
    """S1: no duration is ever negative."""
    assert tags.elapsed_to(NOW + timedelta(seconds=3), NOW) == "0s"
    assert tags.elapsed_to(NOW, NOW + timedelta(seconds=3)) == "3s"


def test_numbers_are_grouped_and_agree_with_their_noun() -> None:
    """S1: 100,000 is never abbreviated."""
    assert rendered("{{ n|grouped }}", n=100_000) == "100,000"
    assert [str(outcomes.started(n)) for n in (1, 2, 9_261)] == [
        "1 run started.",
        "2 runs started.",
        "9,261 runs started.",
    ]


def test_an_instant_is_marked_utc_and_carries_the_machines_value() -> None:
    """S6: without JavaScript no zone of the reader's is known."""
    written = tags.instant(NOW, NOW)
    assert 'datetime="2026-12-02T14:32:08.250Z"' in written
    assert 'title="2 Dec 2026, 14:32:08 UTC"' in written
    assert ">14:32:08 UTC<" in written
    assert clock(NOW - timedelta(days=1), now=NOW) == "1 Dec 14:32 UTC"
    assert clock(NOW - timedelta(days=365), now=NOW) == "2 Dec 2025 14:32 UTC"


@pytest.mark.parametrize(
    ("changes", "shape", "word"),
    [
        ({"declared": False, "busy": 2}, "crossed", "No longer declared"),
        ({"pause": Pause(by="a", at=NOW, reason=None), "busy": 4}, "pause", "Paused, 4 finishing"),
        ({"pause": Pause(by="a", at=NOW, reason=None)}, "pause", "Paused"),
        ({"busy": 1207}, "triangle", "Over by 1,202"),
        ({"waiting": 1, "changed_at": NOW - timedelta(seconds=31)}, "diamond", "Not handing out"),
        ({"busy": 5, "next_expiry": NOW - timedelta(seconds=31)}, "clock", "Overdue"),
        ({"busy": 7, "next_expiry": NOW - timedelta(seconds=31)}, "clock", "Overdue"),
        ({"busy": 5, "next_expiry": NOW - timedelta(seconds=29)}, "full", "Full"),
        (
            {
                "busy": 1,
                "waiting": 1,
                "changed_at": NOW - timedelta(seconds=31),
                "next_expiry": NOW - timedelta(days=1),
            },
            "diamond",
            "Not handing out",
        ),
        (
            {"pause": Pause(by="a", at=NOW, reason=None), "busy": 1, "next_expiry": NOW - timedelta(days=1)},
            "pause",
            "Paused, 1 finishing",
        ),
        ({"busy": 5}, "full", "Full"),
        ({"waiting": 1}, "half", "Filling"),
        ({"busy": 1}, "ring", "Open"),
        ({}, "hollow", "Idle"),
    ],
)
def test_every_state_has_a_shape_and_a_word(changes: dict[str, object], shape: str, word: str) -> None:
    """S1: colour comes last; shape and word tell the state."""
    written = tags.health(limit(**changes))
    assert f'href="#shape-{shape}"' in written
    assert word in written


def test_each_shape_that_can_be_asked_for_is_drawn() -> None:
    """S1: an icon without its drawing would be an empty square."""
    symbols = rendered('{% include "components/symbols.html" %}')
    assert [name for name in tags.ICONS if f'id="shape-{name}"' not in symbols] == []


def test_where_a_value_comes_from_names_the_person_as_plain_text() -> None:
    """O1: declared and override are told per field; names are hostile text."""
    assert rendered('{% provenance limit "max_hold" %}', limit=limit()).strip() == "Max hold 45m, declared"
    written = rendered('{% provenance limit "capacity" %}', limit=limit(capacity=setting(20, 30_000)))
    assert written.startswith("Capacity 30,000, override by <bdi>&lt;ana&gt;</bdi>, <time")
    assert written.strip().endswith("(declared 20)")


def test_a_label_is_text_and_nothing_else() -> None:
    """A4: neither markup nor writing direction escapes the cell."""
    assert tags.label("<script>") == '<bdi class="mono label">&lt;script&gt;</bdi>'
    mark = '<span class="unseen">&lt;U+202E&gt;</span>'
    assert tags.label("a\u202e<b>") == f'<bdi class="mono label">a{mark}&lt;b&gt;</bdi>'
    assert tags.ident("\u202erun") == f'<bdi class="mono ident">{mark}run</bdi>'


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("call \u200fx", "call <U+200F>x"),
        ("pay\u200bpal", "pay<U+200B>pal"),
        ("pay\u200dpal", "pay<U+200D>pal"),
        ("a\u00a0b\u3164", "a<U+00A0>b<U+3164>"),
        ("\ufeff\u2066x\u2069", "<U+FEFF><U+2066>x<U+2069>"),
        ("hidden\U000e0061\U000e007f", "hidden<U+E0061><U+E007F>"),
        ("\u200d", "<U+200D>"),
        ("plain  text", "plain  text"),
        ("שלום", "שלום"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("\u2764\ufe0f 1\ufe0f\u20e3", "\u2764\ufe0f 1\ufe0f\u20e3"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f3f3\ufe0f\u200d\U0001f308"),
        (
            "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        ),
    ],
)
def test_what_nobody_would_see_in_a_label_is_written_out(label: str, shown: str) -> None:
    """A4: two labels that look alike are alike; emoji and scripts that join their letters stay whole."""
    assert "".join(part for part, _ in wording.unseen(label)) == shown


def test_a_drawn_bar_has_no_style_and_is_hidden_from_the_reader() -> None:
    """S6: the policy forbids style attributes; the sentence stands beside the drawing."""
    written = rendered("{% bar limit %}", limit=limit(busy=6, reserved=1))
    assert 'aria-hidden="true"' in written
    assert "style=" not in written
    assert "6 busy and 1 reserved of 5, 2 over" in written


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("voice-calls", "/limits/voice-calls/"),
        (".", "/limits/~./"),
        ("..", "/limits/~../"),
        ("...", "/limits/~.../"),
        ("a.", "/limits/a./"),
        ("edit", "/limits/edit/"),
        ("-", "/limits/-/"),
        ("a" * 64, f"/limits/{'a' * 64}/"),
    ],
)
def test_every_legal_name_has_an_address_that_leads_back_to_it(name: str, path: str) -> None:
    """D1: names of dots alone carry a ~, since browsers fold them."""
    assert reverse("limit", args=[name]) == path
    for view in ("limit", "limit-edit", "limit-pause", "limit-resume"):
        found = resolve(reverse(view, args=[name]))
        assert (found.url_name, found.kwargs) == (view, {"name": name})


def test_fields_are_written_with_a_hyphen_in_addresses() -> None:
    """O1: the address says max-hold, the engine max_hold."""
    path = reverse("limit-reset", args=["calls", "max_hold"])
    assert path == "/limits/calls/reset/max-hold/"
    assert resolve(path).kwargs == {"name": "calls", "field": "max_hold"}


@pytest.mark.parametrize("segment", ["a\x00b", "a\nb", "\u202e", "a" * 101])
def test_odd_signs_in_an_address_are_no_page(segment: str) -> None:
    """S7: nothing unprintable reaches the database."""
    with pytest.raises(Http404):
        resolve(f"/limits/{segment}/")
