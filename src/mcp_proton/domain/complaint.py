"""Complaints: what is wrong with something the owner wrote, and where: file, line and key.

A complaint never quotes a value, since a value may be a secret; it names what is allowed there instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mcp_proton.domain.errors import MailError

Key = tuple[str | int, ...]
"""The way to a value: `("rules", 2, "effect")` is the key `effect` of the third `[[rules]]`."""

_WORDS = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be a text in quotes",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a table",
    "mapping_type": "must be a table",
    "model_type": "must be a table",
    "datetime_type": "must be a date with time and zone",
    "timezone_aware": "must say its time zone (end in Z or +01:00)",
}

_PHRASES = (
    ("Input should", "must"),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
    ("must be a valid", "must be a"),
)


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong. `line` counts from 1; None: not known yet, or the file as a whole."""

    key: Key
    what: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f"{', ' if place else ''}line {self.line}"
        return ": ".join(part for part in (place, spelled(self.key), self.what) if part)


class Misconfigured(MailError):
    """The owner's file cannot be used as it stands. `complaints` are all that were found, in the file's order."""

    code = "misconfigured"
    advice = "mend the file; `mcp-proton config check` says when it is right"

    def __init__(self, complaints: Sequence[Complaint]) -> None:
        super().__init__("; ".join(map(str, complaints)))
        self.complaints = tuple(complaints)

    def located(self, file: str, line_of: Callable[[Key], int | None]) -> Misconfigured:
        """Return the same complaints with file and line."""
        found = [replace(one, file=file, line=one.line or line_of(one.key)) for one in self.complaints]
        return Misconfigured(sorted(found, key=lambda one: one.line or 0))


def spelled(key: Key) -> str:
    """Return a key as the owner would write it; tables of a list are counted from 1, as the owner counts."""
    text = ""
    for step in key:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` where something known is near, else an empty text."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


def from_validation(error: ValidationError, model: type[BaseModel]) -> Misconfigured:
    """Turn a validation of the owner's document into complaints."""
    return Misconfigured([_complaint(one, model) for one in error.errors(include_url=False, include_input=False)])


def _complaint(error: ErrorDetails, model: type[BaseModel]) -> Complaint:
    key = tuple(step for step in error["loc"] if step != "[key]")
    kind = error["type"]
    if kind == "extra_forbidden":
        return Complaint(key, f"is not a key here{nearest(str(key[-1]), _keys_beside(model, key))}")
    if kind == "value_error":
        return Complaint(key, str(error["ctx"]["error"]))
    if kind in ("enum", "literal_error"):
        return Complaint(key, f"must be {error['ctx']['expected']}")
    return Complaint(key, _WORDS.get(kind) or _plainer(error["msg"]))


def _plainer(message: str) -> str:
    for foreign, ours in _PHRASES:
        message = message.replace(foreign, ours)
    return message


def _keys_beside(model: type[BaseModel], key: Key) -> list[str]:
    """Return the keys known where an unknown one stands, following the models down."""
    here: type[BaseModel] | None = model
    for step in key[:-1]:
        if here is None:
            return []
        if isinstance(step, str) and step in here.model_fields:
            here = _model_in(here.model_fields[step].annotation) or here
    return list(here.model_fields) if here else []


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _model_in(inner)
        if found is not None:
            return found
    return None
