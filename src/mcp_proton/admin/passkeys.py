"""`mcp-proton passkeys`: with what the owner signs in, and which programs were let in with it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.admin.asking import confirm
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.config.signing_in import By
from mcp_proton.domain.errors import Invalid, NotFound
from mcp_proton.domain.signing_in import ENROLMENT_LIFE

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.config.tables import Config

app = App(
    name="passkeys",
    help_epilogue="""Examples:
  mcp-proton passkeys add
  mcp-proton passkeys list
  mcp-proton passkeys sign-ins
  mcp-proton passkeys end si_7f3k2m5q7x4c6b2a""",
)

Yes = Annotated[bool, Parameter(negative="", help="do not ask", show_default=False)]


@app.command
async def add(*, json: AsJson = False) -> Exit:
    """Print a code by which one passkey can be added in a browser, once, within ten minutes."""
    settings = bootstrap.settings(os.environ)
    page = _page(settings.config)
    async with bootstrap.signing_in(settings) as (passkeys, _):
        code = await passkeys.invite()
    printer = Printer(as_json=json)
    if json:
        printer.json({"status": "ok", "page": page, "code": code})
        return Exit.DONE
    printer.remark(
        f"open this page where your passkey shall be, and type the code; good once, for {_minutes()} minutes:"
    )
    printer.line(page)
    printer.line(code)
    return Exit.DONE


@app.command(name="list")
async def list_passkeys(*, json: AsJson = False) -> Exit:
    """List the passkeys."""
    async with bootstrap.signing_in(bootstrap.settings(os.environ)) as (passkeys, _):
        found = await passkeys.listed()
    rows = [
        {
            "passkey": one.id,
            "name": one.name,
            "added": _time(one.created),
            **({"used": _time(one.used)} if one.used else {}),
        }
        for one in found
    ]
    printer = Printer(as_json=json)
    if not rows and not json:
        printer.remark("there is no passkey yet: `mcp-proton passkeys add`")
    return printer.answer({"status": "ok", "passkeys": rows})


@app.command
async def remove(id: Annotated[str, Parameter(help="as `passkeys list` names it")], /, *, json: AsJson = False) -> Exit:
    """Remove a passkey. What programs were given with it stays until you end it."""
    async with bootstrap.signing_in(bootstrap.settings(os.environ)) as (passkeys, _):
        if not await passkeys.remove(id):
            raise NotFound(f"there is no passkey `{id}`", next="`mcp-proton passkeys list` names them")
    return Printer(as_json=json).answer({"status": "ok", "removed": id})


@app.command
async def sign_ins(*, json: AsJson = False) -> Exit:
    """List which programs were let in, as which client, with which scopes and until when."""
    async with bootstrap.signing_in(bootstrap.settings(os.environ)) as (_, kept):
        found = await kept.listed()
    rows = [
        {
            "sign_in": one.id,
            "client": one.client,
            "program": one.program,
            "scopes": list(one.scopes),
            "began": _time(one.created),
            "renewed": _time(one.renewed),
            "ends": _time(one.ends),
        }
        for one in found
    ]
    printer = Printer(as_json=json)
    if not rows and not json:
        printer.remark("no program is signed in")
    return printer.answer({"status": "ok", "sign_ins": rows})


@app.command
async def end(
    id: Annotated[str | None, Parameter(help="as `passkeys sign-ins` names it; left out: all")] = None,
    /,
    *,
    yes: Yes = False,
    json: AsJson = False,
) -> Exit:
    """End what a program was given, at once; or all of it."""
    printer = Printer(as_json=json)
    if id is None and not yes and not confirm("End every sign-in?", flag="--yes"):
        printer.remark("nothing was changed")
        return Exit.REFUSED
    async with bootstrap.signing_in(bootstrap.settings(os.environ)) as (_, kept):
        ended = await kept.end(id=id)
    if id is not None and not ended:
        raise NotFound(f"there is no sign-in `{id}`", next="`mcp-proton passkeys sign-ins` names them")
    return printer.answer({"status": "ok", "ended": ended})


def _page(config: Config) -> str:
    if config.sign_in is None or config.sign_in.by is not By.PASSKEY:
        raise Invalid(
            "the service takes no passkeys",
            next='write `[sign_in]` with `by = "passkey"` into config.toml, and restart it',
        )
    port = config.service.listen.rpartition(":")[2]
    return f"{config.service.public_url or f'http://localhost:{port}'}/sign-in/enrol"


def _minutes() -> int:
    return int(ENROLMENT_LIFE.total_seconds() // 60)


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
