"""`mcp-proton do <operation>`: every operation as a command, read off the catalog. The owner is the caller."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from cyclopts import App, Parameter
from pydantic import ValidationError

from mcp_proton.domain.caller import Audience, owner
from mcp_proton.domain.complaint import from_validation
from mcp_proton.services import registry
from mcp_proton.services.answers import answer

from .exits import Exit
from .printing import AsJson, Printer
from .world import Demo, opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

    from mcp_proton.domain.operation import Request

app = App(name="do", help="Do one thing yourself, through the same door as every agent.")


def _command(name: str, request: type[Request], help_text: str) -> Callable[..., Any]:
    async def run(*, json: bool = False, demo: bool = False, **values: Any) -> Exit:
        printer = Printer(as_json=json)
        given = {key: value for key, value in values.items() if value is not None}
        try:
            filled = request.model_validate({_field_of(request, key): value for key, value in given.items()})
        except ValidationError as error:
            for complaint in from_validation(error, request).complaints:
                printer.remark(
                    f"--{str(complaint.key[0]).replace('_', '-') if complaint.key else name}: {complaint.what}"
                )
            return Exit.USAGE
        async with opened(demo=demo) as service:
            return printer.answer(answer(await service.submit(owner(), filled)))

    parameters = [_parameter(field, info) for field, info in request.model_fields.items()]
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    options = [
        inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=AsJson),
        inspect.Parameter("demo", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Demo),
    ]
    run.__signature__ = inspect.Signature([*parameters, *options])  # type: ignore[attr-defined]  # what cyclopts reads
    run.__name__ = name
    run.__doc__ = help_text
    return run


def _parameter(name: str, info: FieldInfo) -> inspect.Parameter:
    shown = info.alias or name
    option = Parameter(name=f"--{shown.replace('_', '-')}", help=info.description or "")
    annotation: Any = Annotated[_plain(info.annotation), option]
    if info.is_required():
        return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
    default = info.default if isinstance(info.default, bool | int) else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain(annotation: Any) -> Any:
    """Reduce a field's type to what a command line knows; the request's own model does the checking."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain(get_args(annotation)[0])
    if origin in (Union, UnionType):
        kinds = [one for one in get_args(annotation) if one is not type(None)]
        return _plain(kinds[0]) | None
    if origin is tuple:
        return list[str]
    if origin is Literal or annotation in (bool, int, Path):
        return annotation
    return str


def _field_of(request: type[Request], name: str) -> str:
    info = request.model_fields[name]
    return info.alias or name


for _definition in registry.load().for_audience(Audience.AGENT):
    app.command(
        _command(_definition.name, _definition.request, _definition.request.__doc__ or ""),
        name=[_definition.name, _definition.name.replace("_", "-")],
    )
