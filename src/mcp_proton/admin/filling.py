"""Filling in a request from a command line: what is wrong is told under the names a person typed, without the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from mcp_proton.domain.complaint import from_validation
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.operation import Request

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

R = TypeVar("R", bound=Request)
_NO_SUCH_FORM = "string_pattern_mismatch"


def filled(request: type[R], **values: Any) -> R:
    """Return the request. Raises `Invalid` with everything that is wrong."""
    try:
        return request.model_validate(values)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise Invalid("; ".join(_told(one, error, request) for one in details)) from None


def option(field: str) -> str:
    """Return a field's name as the command line has it."""
    return f"--{field.replace('_', '-')}"


def _told(detail: ErrorDetails, error: ValidationError, request: type[Request]) -> str:
    name = option(str(detail["loc"][0])) if detail["loc"] else request.__name__
    if detail["type"] == _NO_SUCH_FORM:
        return f"{name}: does not look like one; copy it exactly from a result"
    what = next(one.what for one in from_validation(error, request).complaints if one.key == tuple(detail["loc"]))
    return f"{name}: {what}"
