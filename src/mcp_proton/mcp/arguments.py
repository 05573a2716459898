"""Arguments → request, as leniently as models need, and complaints that name the field and the rule, never the value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from mcp_proton.domain.complaint import nearest
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.operation import Request

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from pydantic_core import ErrorDetails

Asked = TypeVar("Asked", bound=Request)

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_RULES = {
    "missing": "is missing",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "path_type": "must be a path",
}


class Malformed(Invalid):
    """The arguments have the wrong shape: the caller's program is at fault, not its knowledge."""


def read(model: type[Asked], arguments: Mapping[str, Any], without: Collection[str] = ()) -> Asked:
    """Read a request. A null is an omitted argument; fields in `without` are not offered here.

    Raises `Malformed` for a shape that is wrong, `Invalid` for what has the right shape and makes no sense (a mistyped
    handle, say).
    """
    known = [name for name in _names(model) if name not in without]
    given = {name: value for name, value in arguments.items() if value is not None}
    withheld = [name for name in given if name in without]
    if withheld:
        raise Invalid(f"`{withheld[0]}` is not offered by this tool: it would do more than it says", next=_offer(known))
    unknown = [name for name in given if name not in known]
    if unknown:
        raise Malformed("; ".join(_unknown(name, known) for name in unknown[:3]), next=_offer(known))
    try:
        return model.model_validate(given)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        kind = Invalid if all(one["type"] == "value_error" for one in found) else Malformed
        raise kind("; ".join(dict.fromkeys(_told(one) for one in found[:5])), next=_offer(known)) from None


def _names(model: type[BaseModel]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]


def _unknown(name: str, known: Iterable[str]) -> str:
    shown = f"argument `{name}`" if _NAME.fullmatch(name) else "argument of that name"
    return f"there is no {shown}{nearest(name, known)}"


def _offer(known: Collection[str]) -> str:
    return "the arguments are " + ", ".join(f"`{name}`" for name in known) if known else "call it without arguments"


def _told(error: ErrorDetails) -> str:
    field = _spelled(error["loc"])
    return f"`{field}` {_rule(error)}" if field else _rule(error)


def _rule(error: ErrorDetails) -> str:
    kind = error["type"]
    if kind == "value_error":
        return f"is not right: {error['ctx']['error']}"
    if kind == "literal_error":
        return f"must be {error['ctx']['expected']}"
    if kind == "string_pattern_mismatch":
        return "must be copied exactly from a result"
    if kind == "string_too_long":
        return f"must have at most {error['ctx']['max_length']} characters"
    if kind == "string_too_short":
        return "must not be empty"
    return _RULES.get(kind) or error["msg"].replace("Input should", "must").replace("Tuple should", "must")


def _spelled(location: tuple[int | str, ...]) -> str:
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
