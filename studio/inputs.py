"""A form for a workflow's input, made from its JSON Schema: a field each where that can be, else one for JSON. Pure."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.utils.translation import gettext

JSON: Final = "input"
"""The name of the one field for JSON."""
_DEPTH_MAX: Final = 100
_FIGURES_MAX: Final = 300
_ABSENT: Final = object()


class InputError(ValueError):
    """What was typed is no value of the field; the message says what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A value to choose; `text` is how the form sends it."""

    text: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InputField:
    """A field of the form. `kind` is string, integer, number, boolean, choice or json."""

    name: str
    kind: str
    word: str
    description: str = ""
    required: bool = False
    initial: str = ""
    choices: tuple[Choice, ...] = ()

    @property
    def id(self) -> str:
        """The name by which the form sends it; never one of the form's own."""
        return f"in-{self.name}"

    def value(self, sent: Mapping[str, str]) -> Any:
        """Return the value that was sent, `_ABSENT` for none; raises `InputError`."""
        text = sent.get(self.id, "")
        if self.kind == "boolean":
            return text == "true"
        if self.kind == "json":
            return _json(text)
        if self.kind == "string" and text == "" and not self.required:
            # An emptied field is an empty text only where leaving it out would mean another.
            return "" if self.initial else _ABSENT
        if text.strip() == "":
            if self.required:
                said = gettext("Choose {name}") if self.kind == "choice" else gettext("Enter {name}")
                raise InputError(said.format(name=self.word))
            return _ABSENT
        return self._converted(text)

    def _converted(self, text: str) -> Any:
        match self.kind:
            case "integer":
                return _integer(text.strip(), self.word)
            case "number":
                return _number(text.strip(), self.word)
            case "choice":
                return _chosen(text, self)
            case _:
                # Browsers send line ends their own way.
                return text.replace("\r\n", "\n")


@dataclass(slots=True, kw_only=True)
class InputForm:
    """What was typed, or nothing yet; `errors` by a field's name, "" for those of no field."""

    fields: list[InputField]
    sent: Mapping[str, str] | None = None
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> list[tuple[InputField, str, str]]:
        """Each field with its text and its error."""
        return [(each, self._text(each), self.errors.get(each.name, "")) for each in self.fields]

    def read(self) -> Any:
        """Return the input that was typed; fills `errors` where it is none."""
        values = {}
        for each in self.fields:
            try:
                values[each.name] = each.value(self.sent or {})
            except InputError as error:
                self.errors[each.name] = str(error)
        if [each.kind for each in self.fields] == ["json"]:
            return values.get(JSON)
        return {name: value for name, value in values.items() if value is not _ABSENT}

    def refuse(self, where: str, problem: str) -> None:
        """Take up the refusal of a value: at its field if the form has it, else above them all."""
        names = {each.name for each in self.fields}
        name = where.removeprefix("input").removeprefix(".")
        if name not in names:
            name = name.partition(".")[0] if name.partition(".")[0] in names else ""
        only = self.fields[0].name if [each.kind for each in self.fields] == ["json"] else ""
        self.errors[name or only] = f"{where}: {problem}" if only else problem

    def _text(self, each: InputField) -> str:
        return each.initial if self.sent is None else self.sent.get(each.id, "")


def form(schema: Mapping[str, Any], sent: Mapping[str, str] | None = None) -> InputForm:
    """Return the form for an input of that schema."""
    fields = _fields(schema)
    return InputForm(fields=[_as_json(schema)] if fields is None else fields, sent=sent)


def _as_json(schema: Mapping[str, Any]) -> InputField:
    written = schema.get("description")
    return InputField(
        name=JSON,
        kind="json",
        word=gettext("Input (JSON)"),
        description=written if isinstance(written, str) else "",
        required=True,
        initial="{}" if schema.get("type") == "object" else "null",
    )


def _fields(schema: Mapping[str, Any]) -> list[InputField] | None:
    """Return a field for each property; none where one of them, or what stands beside them, is not that simple."""
    properties = schema.get("properties")
    required = schema.get("required", [])
    beside = {"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentRequired", "dependentSchemas"}
    more = schema.get("additionalProperties", False)
    if schema.get("type") != "object" or not isinstance(properties, dict) or beside & set(schema):
        return None
    if more not in (True, False) or not isinstance(required, list) or not set(required) <= set(properties):
        return None
    # The database keeps no order of properties; what must be there comes first.
    named = sorted(properties.items(), key=lambda each: each[0] not in required)
    fields = [_field(name, each, name in required, schema) for name, each in named]
    return [each for each in fields if each is not None] if None not in fields else None


def _field(name: str, given: Any, required: bool, root: Mapping[str, Any]) -> InputField | None:
    if not isinstance(given, dict):
        return None
    described = _resolved(given, root)
    nullable = False
    if isinstance(described.get("anyOf"), list) and not required:
        # A value or nothing: an empty field leaves it out, if that says the same.
        simple = [each for each in described["anyOf"] if each != {"type": "null"}]
        nullable = len(simple) == 1 == len(described["anyOf"]) - 1 and described.get("default") is None
        if not nullable or not isinstance(simple[0], dict):
            return None
        described = {**_resolved(simple[0], root), **{k: v for k, v in described.items() if k != "anyOf"}}
    kind = _kind(described, nullable)
    if kind is None:
        return None
    default, written = described.get("default"), described.get("description")
    return InputField(
        name=name,
        kind=kind,
        word=name,
        description=written if isinstance(written, str) else "",
        required=required,
        initial=_initial(kind, default),
        choices=_choices(described, kind),
    )


def _kind(described: Mapping[str, Any], nullable: bool) -> str | None:
    if {"anyOf", "oneOf", "allOf", "not", "$ref"} & set(described):
        return None
    if isinstance(described.get("enum"), list) or "const" in described:
        return "choice"
    kind = described.get("type")
    if kind == "boolean":
        return "choice" if nullable or "default" not in described else "boolean"
    return kind if kind in ("string", "integer", "number") else None


def _choices(described: Mapping[str, Any], kind: str) -> tuple[Choice, ...]:
    if kind != "choice":
        return ()
    values = described.get("enum", [described["const"]] if "const" in described else [True, False])
    return tuple(
        Choice(text=json.dumps(each), word=each if isinstance(each, str) else json.dumps(each)) for each in values
    )


def _initial(kind: str, default: Any) -> str:
    if default is None:
        return ""
    return default if kind == "string" and isinstance(default, str) else json.dumps(default)


def _resolved(given: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """Follow a reference into the schema's own definitions, one step."""
    found = re.fullmatch(r"#/\$defs/([^/~%]+)", str(given.get("$ref", "")))
    target = root.get("$defs", {}).get(found[1]) if found else None
    if not isinstance(target, dict):
        return dict(given)
    return {**target, **{key: value for key, value in given.items() if key != "$ref"}}


def _integer(text: str, word: str) -> int:
    if not re.fullmatch(rf"-?[0-9]{{1,{_FIGURES_MAX}}}", text):
        raise InputError(gettext("{name} must be a whole number, like 20").format(name=word))
    return int(text)


def _number(text: str, word: str) -> int | float:
    if re.fullmatch(rf"-?[0-9]{{1,{_FIGURES_MAX}}}", text):
        return int(text)
    if re.fullmatch(r"-?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,3})?", text) and math.isfinite(float(text)):
        return float(text)
    raise InputError(gettext("{name} must be a number, like 2.5").format(name=word))


def _chosen(text: str, asked: InputField) -> Any:
    if text not in {choice.text for choice in asked.choices}:
        raise InputError(gettext("Choose {name} from the list").format(name=asked.word))
    return json.loads(text)


def _json(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite)
        if _deeper(value, _DEPTH_MAX):
            raise InputError(gettext("Input must not be nested more than {n} deep").format(n=_DEPTH_MAX))
    except InputError:
        raise
    except json.JSONDecodeError as error:
        said = gettext("Input must be JSON: {problem}, line {line}, column {column}")
        raise InputError(said.format(problem=error.msg, line=error.lineno, column=error.colno)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(gettext("Input must be JSON, with numbers and nesting in measure")) from error
    return value


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _refused(text: str) -> float:
    raise InputError(gettext("Input must be JSON, which has no number {number}").format(number=text[:40]))


def _deeper(value: Any, left: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and (left == 0 or any(_deeper(each, left - 1) for each in value))
