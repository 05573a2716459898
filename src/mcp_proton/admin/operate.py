"""`mcp-proton do <operation>`: every operation as a command, read off the catalog. The owner is the caller.

What the owner's own surface must ask about (destroying something) is shown and asked here, at the terminal.
"""

from __future__ import annotations

import inspect
import shlex
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from cyclopts import App, Parameter

from mcp_proton.admin import reviewing
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.filling import filled, option
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.world import Demo, opened
from mcp_proton.domain.caller import Audience, owner
from mcp_proton.domain.effects import DESTRUCTIVE
from mcp_proton.services.door import registry
from mcp_proton.services.fields import ours
from mcp_proton.services.presenting.answers import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic.fields import FieldInfo

    from mcp_proton.domain.operation import Request
    from mcp_proton.services.door.registry import Definition

app = App(
    name="do",
    help_epilogue="""Examples:
  mcp-proton do mailboxes_overview
  mcp-proton do messages_search 'from:anna has:attachment' --limit 5
  mcp-proton do messages_get HANDLE --view html
  mcp-proton do attachments_save HANDLE 1 --json

Results name messages by handles; copy them whole. With --demo everything is
made up. `mcp-proton do OPERATION --help` explains one operation.""",
)
Yes = Annotated[bool, Parameter(name="--yes", negative="", help="ask for no confirmation", show_default=False)]


def _command(definition: Definition, help_text: str) -> Callable[..., Any]:
    request = definition.request

    async def run(*required: Any, json: bool = False, demo: bool = False, yes: bool = False, **values: Any) -> Exit:
        printer = Printer(as_json=json)
        given = {**dict(zip(positions, required, strict=False)), **values}
        wanted = filled(request, **{_field_of(request, key): one for key, one in given.items() if one is not None})
        async with opened(demo=demo) as service:
            outcome = await service.submit(owner(), wanted)
            if outcome.status == "approval_pending" and outcome.operation_id:
                outcome = await reviewing.answered(service, outcome, printer, yes=yes)
            return printer.answer(answer(outcome))

    offered = {
        field: info for field, info in request.model_fields.items() if (info.alias or field) not in ours(request)
    }
    parameters = [_parameter(field, info) for field, info in offered.items()]
    parameters.sort(key=lambda one: one.default is not inspect.Parameter.empty)
    positions = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    asking = {"yes": Yes} if registry.primitive(definition).effects & DESTRUCTIVE else {}
    for flag, kind in {"json": AsJson, "demo": Demo, **asking}.items():
        parameters.append(
            inspect.Parameter(flag, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        )  # fmt: skip
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what cyclopts reads
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__name__ = definition.name
    run.__doc__ = help_text
    return run


def _parameter(name: str, info: FieldInfo) -> inspect.Parameter:
    parameter = Parameter(
        name=option(info.alias or name),
        help=info.description or "",
        negative=_negative(info),
        show_default=bool(info.default) and not info.is_required(),
    )
    kind = _plain(info.annotation)
    if info.is_required():
        return inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Annotated[kind, parameter]
        )  # fmt: skip
    default = info.default if isinstance(info.default, bool | int | str) else None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind if default is not None else kind | None, parameter],
    )


def _negative(info: FieldInfo) -> str | None:
    """Offer `--no-…` only for what is on unless said otherwise."""
    return None if info.default is True else ""


def _plain(annotation: Any) -> Any:
    """Reduce a field's type to what a command line knows; the request's own model does the checking."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain(get_args(annotation)[0])
    if origin in (Union, UnionType):
        kinds = [one for one in get_args(annotation) if one is not type(None)]
        return _plain(kinds[0])
    if origin is tuple:
        return list[str]
    if origin is Literal or annotation in (bool, int, Path):
        return annotation
    return str


def _field_of(request: type[Request], name: str) -> str:
    info = request.model_fields[name]
    return info.alias or name


def _example(name: str, request: type[Request], example: dict[str, Any]) -> str:
    """Return the operation's own example as a person would type it."""
    words, options = [], []
    for field, info in request.model_fields.items():
        shown = info.alias or field
        if shown not in example:
            continue
        value = example[shown]
        texts = [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
        if info.is_required():
            words += texts
        elif isinstance(value, bool):
            options += [option(shown)] if value else []
        else:
            options += [word for text in texts for word in (option(shown), text)]
    return f"Example:\n  {shlex.join(['mcp-proton', 'do', name, *words, *options])}"


for _definition in registry.load().for_audience(Audience.AGENT):
    app.command(
        _command(_definition, inspect.cleandoc(_definition.request.__doc__ or "")),
        name=_definition.name,
        help_epilogue=_example(_definition.name, _definition.request, _definition.example),
    )
