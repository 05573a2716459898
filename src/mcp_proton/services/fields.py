"""The field types of requests and results. A type *is* the declaration of what the request touches.

A `Handles` field is a target, a `MailboxField` a scope, a `LocalPath` a file; planning reads these marks, so an
author cannot forget to declare one. A `Stranger` field of a result is text that somebody else wrote: it is neutralised when
the result is made and named as untrusted in the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid, MailError
from mcp_proton.domain.handles import SLUG, Handle
from mcp_proton.domain.web_address import WebAddress
from mcp_proton.mime import neutral

Asked = TypeVar("Asked", bound=BaseModel)


class Mark(Enum):
    """What a field of a request touches."""

    ACCOUNT = "account"
    HANDLE = "handle"
    MAILBOX = "mailbox"
    DESTINATION = "destination"
    NEW_FOLDER = "new folder"
    NEW_LABEL = "new label"
    PREVIEW = "preview"
    RECIPIENT = "recipient"
    PATH = "path"
    URL = "url"
    TEXT = "text"
    TOKEN = "token"  # noqa: S105 - a kind of field, not a secret


@dataclass(frozen=True, slots=True)
class Untrusted:
    """Marks a result field whose text a stranger wrote."""


@dataclass(frozen=True, slots=True)
class Ours:
    """Marks a request field that the service fills in: no surface offers it, and what a caller puts there is thrown away."""


@dataclass(frozen=True, slots=True)
class Adds:
    """Marks a request field that, once set, has this effect as well; a surface that must not have it leaves the field out."""

    effect: Effect


def _as_value_error(check: Any) -> Any:
    """Let pydantic report one of our errors as a validation error of the field."""

    def checked(value: str) -> str:
        try:
            check(value)
        except MailError as error:
            raise ValueError(error.message) from None
        return value

    return AfterValidator(checked)


def listed(value: Any) -> Any:
    """Accept what models send for a list: a JSON array in a string, or one bare item."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                return json.loads(text)
            except ValueError:
                return value
        return [text] if text else []
    return value


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def _absent(value: Any) -> Any:
    """Take an empty string for an omitted optional field."""
    return None if isinstance(value, str) and not value.strip() else value


Account = Annotated[
    Annotated[str, Field(pattern=rf"^{SLUG}$")] | None,
    BeforeValidator(_absent),
    Field(description="omit for the default"),
    Mark.ACCOUNT,
]
OneHandle = Annotated[
    str,
    BeforeValidator(_stripped),
    _as_value_error(Handle.parse),
    Field(description="handle from a result"),
    Mark.HANDLE,
]
Handles = Annotated[
    tuple[OneHandle, ...],
    BeforeValidator(listed),
    Field(min_length=1, max_length=100, description="handles from a result"),
    Mark.HANDLE,
]


def _plain_url(text: str) -> str:
    """Write an address as it is judged and asked for, so that nothing is read twice."""
    try:
        return str(WebAddress.parse(text))
    except MailError as error:
        raise ValueError(error.message) from None


MOST_HANDLES = 50_000


def _countable(value: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what is beyond all measure. Not in the schema: no model writes that many, and every tool would carry it."""
    if len(value) > MOST_HANDLES:
        raise ValueError(f"at most {MOST_HANDLES} messages at once")
    return value


ManyHandles = Annotated[
    tuple[OneHandle, ...],
    BeforeValidator(listed),
    AfterValidator(_countable),
    Field(min_length=1, description="handles from a result"),
    Mark.HANDLE,
]
"""As many as the owner's `max_batch` allows; beyond a few hundred it goes on in the background."""
HOME_WORD = "home"
Destination = Annotated[
    str,
    BeforeValidator(_stripped),
    Field(min_length=1, max_length=512, description="path or role, or home: where its kind belongs"),
    Mark.DESTINATION,
]
NewFolder = Annotated[
    str, BeforeValidator(_stripped), Field(min_length=1, max_length=512, description="path, / between"), Mark.NEW_FOLDER
]
NewLabel = Annotated[str, BeforeValidator(_stripped), Field(min_length=1, max_length=512), Mark.NEW_LABEL]
Preview = Annotated[bool, Field(description="only tell what would happen"), Mark.PREVIEW]
MailboxField = Annotated[
    str,
    BeforeValidator(_stripped),
    Field(min_length=1, max_length=512, description="path or role, e.g. inbox"),
    Mark.MAILBOX,
]
MailboxFields = Annotated[
    tuple[MailboxField, ...],
    BeforeValidator(listed),
    Field(max_length=200, description="paths or roles"),
    Mark.MAILBOX,
]
LocalPath = Annotated[Path, Mark.PATH]
Url = Annotated[str, AfterValidator(_plain_url), Field(description="https"), Mark.URL]
MOST_TEXT = 4_096
Text = Annotated[str, Field(max_length=MOST_TEXT), Mark.TEXT]
Texts = Annotated[tuple[Text, ...], BeforeValidator(listed), Field(max_length=50), Mark.TEXT]
Cursor = Annotated[
    Annotated[str, Field(max_length=2048)] | None,
    BeforeValidator(_absent),
    Field(description="from the page before"),
    Mark.TOKEN,
]
OperationId = Annotated[str, BeforeValidator(_stripped), Field(pattern=r"^op_[a-z2-7]{16}$"), Mark.TOKEN]
Stranger = Annotated[str, AfterValidator(neutral.neutralise), Untrusted()]


def when(text: str, zone: ZoneInfo, *, field: str) -> datetime:
    """Read `2026-11-30`, `2026-11-30T08:00` or an RFC 3339 instant; without an offset it is the owner's local time."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return datetime.combine(date.fromisoformat(text), time(), tzinfo=zone)
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"`{field}` is not a date", next="give a date like 2026-11-30 or an RFC 3339 time") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


When = Annotated[
    Annotated[str, Field(max_length=40)] | None,
    BeforeValidator(_absent),
    Field(description="date or RFC 3339 time"),
    Mark.TEXT,
]


def marked(model: BaseModel) -> Iterator[tuple[Mark, str, Any]]:
    """Yield (mark, field name, value) for every field of a request that carries a value, nested requests included."""
    for name, info in type(model).model_fields.items():
        value = getattr(model, name)
        if value is None:
            continue
        for mark in info.metadata:
            if isinstance(mark, Mark):
                yield mark, name, value
        for nested in value if isinstance(value, tuple) else (value,):
            if isinstance(nested, BaseModel):
                yield from marked(nested)


@cache
def additions(model: type[BaseModel]) -> Mapping[str, Effect]:
    """Return the effects that single fields of a request add, by field name."""
    return {
        name: mark.effect
        for name, info in model.model_fields.items()
        for mark in info.metadata
        if isinstance(mark, Adds)
    }


def ours(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of the fields that no caller fills in."""
    return frozenset(
        info.alias or name
        for name, info in model.model_fields.items()
        if any(isinstance(mark, Ours) for mark in info.metadata)
    )


def own(request: Asked) -> Asked:
    """Return the request without what its caller put into fields that are not a caller's to fill in."""
    fields = type(request).model_fields
    blank = {name: fields[name].default for name in _named_ours(type(request)) & request.model_fields_set}
    return request.model_copy(update=blank) if blank else request


@cache
def _named_ours(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(
        name for name, info in model.model_fields.items() if any(isinstance(m, Ours) for m in info.metadata)
    )


@cache
def untrusted_names(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of a result's fields, at any depth, that hold strangers' text."""
    names: set[str] = set()
    waiting: list[type[BaseModel]] = [model]
    seen: set[type[BaseModel]] = set()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for name, info in current.model_fields.items():
            if any(isinstance(mark, Untrusted) for mark in (*info.metadata, *_inner_marks(info.annotation))):
                names.add(info.alias or name)
            waiting.extend(
                kind for kind in _kinds(info.annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)
            )
    return frozenset(names)


def _kinds(annotation: Any) -> Iterator[Any]:
    yield annotation
    for inner in get_args(annotation):
        yield from _kinds(inner)


def _inner_marks(annotation: Any) -> Iterator[Any]:
    for kind in _kinds(annotation):
        yield from getattr(kind, "__metadata__", ())
