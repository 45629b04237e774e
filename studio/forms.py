"""What people type into Studio's forms, checked by the engine's own grammar; messages say what would be right."""

import re
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.formats import get_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from limits import durations, names, rules
from limits.errors import InvalidValueError
from limits.queries import LimitState
from studio.wording import grouped

# Words for an editor, by the code of the parser's refusal; one that is not here reads like the last.
_CAPACITY: Final = {
    "empty": _("Enter a capacity"),
    "fraction": _("Capacity must be a whole number"),
    "range": _("Capacity must be between 1 and {most} (to hand out no slots, pause the limit)"),
    "not_a_number": _("Capacity must be a number, like 20"),
}
_MAX_HOLD: Final = {
    "empty": _("Enter a max hold"),
    "no_unit": _("Add a unit to the max hold: s, m, h or d, like 45m"),
    "fraction": _("Max hold must use whole numbers, like 1h30m"),
    "zero": _("Max hold must be more than 0"),
    "negative": _("Max hold must be more than 0"),
    "too_long": _("Max hold must be {most} days or less"),
    "unit": _("Max hold must be a duration, like 45m, 2h or 1h30m"),
}
_REASON: Final = {
    "length": _("The reason must have at most {most} characters, got {length}"),
    "sign": _("The reason must not hold control characters"),
}


class CapacityField(forms.Field):
    """A capacity as typed, blanks around it trimmed."""

    def to_python(self, value: Any) -> int:
        """Return the whole number; `ValidationError` says what would be right."""
        text = str(value or "").strip()
        sign = get_format("THOUSAND_SEPARATOR")
        if re.fullmatch(rf"[0-9]{{1,3}}(?:{re.escape(sign)}[0-9]{{3}})+", text):
            # As pages write it, but to some people that sign begins a fraction.
            plain = self.to_python(text.replace(sign, ""))
            # Translators: the sign that stands between thousands.
            raise ValidationError(gettext("Write {number}, without the comma").format(number=plain))
        try:
            return names.parse_capacity(text, where="capacity")
        except InvalidValueError as error:
            said = str(_CAPACITY.get(error.code, _CAPACITY["not_a_number"]))
            raise ValidationError(said.format(most=grouped(rules.CAPACITY_MAX))) from error


class MaxHoldField(forms.Field):
    """A max hold as typed: a duration in the engine's one grammar, blanks around it trimmed."""

    def to_python(self, value: Any) -> int:
        """Return whole milliseconds; `ValidationError` says what would be right."""
        try:
            return durations.parse_max_hold(str(value or "").strip(), where="max hold")
        except InvalidValueError as error:
            said = str(_MAX_HOLD.get(error.code, _MAX_HOLD["unit"]))
            raise ValidationError(said.format(most=rules.MAX_HOLD_MAX // rules.DAY)) from error


class SeenField(forms.Field):
    """The value in force when the form was made, carried along; none where it is missing or was tampered with."""

    widget = forms.HiddenInput

    def to_python(self, value: Any) -> int | None:
        """Return the number, or none."""
        text = str(value or "")
        return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


class ReasonField(forms.Field):
    """Why a person does something, kept in the record; none if left empty."""

    def to_python(self, value: Any) -> str | None:
        """Trim the text and check it by the engine's rule."""
        text = str(value or "").strip() or None
        try:
            names.check_reason(text, where="reason")
        except InvalidValueError as error:
            said = str(_REASON["length" if error.code == "length" else "sign"])
            length = grouped(len(text or ""))
            raise ValidationError(said.format(most=grouped(rules.REASON_LENGTH_MAX), length=length)) from error
        return text


class ReasonForm(forms.Form):
    """The optional reason beside a pause, a resume or a release."""

    reason = ReasonField(required=False)


class ResetForm(ReasonForm):
    """A reset: the value the person saw, and a reason."""

    expected = SeenField(required=False)


class EditForm(ReasonForm):
    """Both values of a limit. A field counts as touched where it differs from what its editor saw."""

    capacity = CapacityField()
    max_hold = MaxHoldField()
    expected_capacity = SeenField(required=False)
    expected_max_hold = SeenField(required=False)

    def __init__(self, data: Any = None, *, limit: LimitState) -> None:
        """Take what was sent, or show the values in force."""
        super().__init__(data, initial=_in_force(limit))
        self.limit = limit

    def clean(self) -> dict[str, Any]:
        """Take the value in force for what the person saw, where the form does not say."""
        for field in ("capacity", "max_hold"):
            if self.cleaned_data.get(f"expected_{field}") is None:
                self.cleaned_data[f"expected_{field}"] = getattr(self.limit, field).effective
        return self.cleaned_data

    @property
    def touched(self) -> list[str]:
        """The fields that the person changed."""
        given = self.cleaned_data
        return [field for field in ("capacity", "max_hold") if given[field] != given[f"expected_{field}"]]

    @property
    def echo(self) -> int | None:
        """The max hold as it was understood, in milliseconds; none for what is none."""
        try:
            return MaxHoldField().to_python(self["max_hold"].value())
        except ValidationError:
            return None

    @property
    def stored(self) -> list[str]:
        """The touched fields whose value an override holds already, as after the same form was sent before."""
        return [f for f in self.touched if getattr(self.limit, f).override == self.cleaned_data[f]]

    @property
    def pending(self) -> list[str]:
        """The touched fields that are still to be stored."""
        return [field for field in self.touched if field not in self.stored]

    @property
    def stale(self) -> list[str]:
        """The fields to be stored that somebody else changed since the person saw them."""
        return [f for f in self.pending if getattr(self.limit, f).effective != self.cleaned_data[f"expected_{f}"]]

    def changes(self) -> dict[str, Any]:
        """Return the arguments of `engine.edit`: the fields to be stored, each with the value its editor saw."""
        wanted = [name for field in self.pending for name in (field, f"expected_{field}")]
        return {name: self.cleaned_data[name] for name in [*wanted, "reason"]}

    def rebased(self) -> "EditForm":
        """Return the same entries over the values in force: what was touched stays as typed, the rest follows."""
        kept = {field: self[field].value() for field in self.touched}
        return EditForm(_in_force(self.limit) | kept | {"reason": self["reason"].value()}, limit=self.limit)


def _in_force(limit: LimitState) -> dict[str, Any]:
    return {
        "capacity": str(limit.capacity.effective),
        "max_hold": durations.format_setting(limit.max_hold.effective),
        "expected_capacity": limit.capacity.effective,
        "expected_max_hold": limit.max_hold.effective,
    }
