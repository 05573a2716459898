"""`mcp-proton people`: many users on one service, each by the token they show (J-80)."""

from __future__ import annotations

import os
from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.setting_up.wanted import flag, labelled, located
from mcp_proton.config import editing
from mcp_proton.domain.errors import Conflict, Invalid

app = App(
    name="people",
    help_epilogue="""Examples:
  mcp-proton people add anna 248289761001 --url https://mail.example.org
  mcp-proton people add bob 248289761002
  mcp-proton people list

Each signs in at the server of [oauth] with a program of their own, and reaches
the JMAP mailbox that their token opens, and no other. To rules and commands a
person is a client and an account of that name: mcp-proton clients pause anna.
A running service lets them in at once; mcp-proton clients remove anna ends it.""",
)


@app.command(name="list")
def list_people(*, json: AsJson = False) -> Exit:
    """List the people in config.toml, and who each is to the authorization server."""
    printer = Printer(as_json=json)
    people = bootstrap.settings(os.environ).config.people
    rows = [{"person": name, "subject": one} for name, one in (people.subjects if people else {}).items()]
    if not rows and not json:
        printer.remark("nobody is served by a token of their own: `mcp-proton people add NAME SUBJECT --url URL`")
    return printer.answer({"status": "ok", "people": rows})


@app.command
def add(
    name: Annotated[str, Parameter(help="a short name of yours for the person")],
    subject: Annotated[str, Parameter(help="who that is to the authorization server: the `sub` of their tokens")],
    /,
    *,
    url: Annotated[str | None, Parameter(help="the JMAP server of all of them; once, with the first")] = None,
    json: AsJson = False,
) -> Exit:
    """Let a person in. It needs `[oauth]` in config.toml: whose tokens are accepted."""
    settings = bootstrap.settings(os.environ)
    label, people = flag("NAME", labelled, name), settings.config.people
    if url is not None:
        flag("--url", located, url)
    if people is None and url is None:
        raise Invalid("--url is missing: the JMAP server whose mailboxes they reach")
    if people is not None and url not in (None, people.url):
        raise Conflict("there is one JMAP server for all people", next=f"it is {people.url}; config.toml says so")
    if people is not None and people.subjects.get(label, subject) != subject:
        raise Conflict(
            f"`{label}` is somebody else already, whose operations and files are under that name",
            next="choose another name",
        )
    editing.add_person(settings.folders.config_file, label, subject, url)
    return Printer(as_json=json).answer({"status": "ok", "person": label})
