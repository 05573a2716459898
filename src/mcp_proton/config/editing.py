"""Editing config.toml and policy.toml for the owner: comments and order survive, and a file is never left half written.

Each function takes a path and puts a valid file there or raises `Misconfigured` and leaves it as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from mcp_proton.config.reading import read
from mcp_proton.domain.complaint import Complaint, Misconfigured
from mcp_proton.storage.files import read_owned, write_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tomlkit import TOMLDocument
    from tomlkit.container import Container
    from tomlkit.items import Table

Value = str | int | bool | list[str] | None
Check = Callable[[str], object]
"""Reads the text and raises `Misconfigured` when it is not what the file should hold."""


def add_account(
    path: Path, name: str, values: Mapping[str, Value], *, oauth: Mapping[str, Value] | None = None
) -> None:
    """Add an account to config.toml, or replace the values of one that is there; None removes a key.

    `oauth` does the same for the account's table of that name: left out, it stays as it is; empty, it goes.
    """

    def add(document: TOMLDocument) -> None:
        account = _table(document, "accounts", name)
        _fill(account, values)
        if oauth is not None and not oauth:
            account.pop("oauth", None)
        elif oauth is not None:
            _fill(_table(document, "accounts", name, "oauth"), oauth)

    _edit(path, add, _as_config(path))


def remove_account(path: Path, name: str) -> None:
    """Take an account out of config.toml. `Misconfigured` when it is not there or a client still names it."""

    def drop(document: TOMLDocument) -> None:
        if name in _people(document):
            out = f"is one of `people`; `mcp-proton clients remove {name}` takes it out"
            raise Misconfigured([Complaint(("accounts", name), out)])
        _drop(document, "accounts", name)

    _edit(path, drop, _as_config(path))


def add_client(path: Path, name: str, values: Mapping[str, Value]) -> None:
    """Add a client to config.toml, or replace the values of one that is there; None removes a key."""
    _edit(path, lambda document: _fill(_table(document, "clients", name), values), _as_config(path))


def remove_client(path: Path, name: str) -> None:
    """Take a client out of config.toml, and with one of `people` their account. `Misconfigured` when it is not there."""

    def drop(document: TOMLDocument) -> None:
        people = _people(document)
        if name not in people:
            _drop(document, "clients", name)
            return
        people.remove(name)
        if name in document.get("clients", {}):
            _drop(document, "clients", name)

    _edit(path, drop, _as_config(path))


def add_person(path: Path, name: str, subject: str, url: str | None = None) -> None:
    """Add one of `people` to config.toml, and where their mail is, unless that is said already."""

    def add(document: TOMLDocument) -> None:
        _fill(_table(document, "people"), {} if url is None else {"url": url})
        _fill(_table(document, "people", "subjects"), {name: subject})

    _edit(path, add, _as_config(path))


def set_service(path: Path, values: Mapping[str, Value]) -> None:
    """Set keys of `[service]` in config.toml; None removes a key."""
    _edit(path, lambda document: _fill(_table(document, "service"), values), _as_config(path))


def choose_preset(
    path: Path, preset: str, check: Check, *, client: str | None = None, account: str | None = None
) -> None:
    """Write the chosen preset into policy.toml: for everything, or for one client or one account."""

    def choose(document: TOMLDocument) -> None:
        if client is not None:
            _table(document, "clients", client)["preset"] = preset
        elif account is not None:
            _table(document, "accounts", account)["preset"] = preset
        else:
            document["preset"] = preset

    _edit(path, choose, check)


def add_rule(path: Path, values: Mapping[str, Value], check: Check) -> None:
    """Append a `[[rules]]` to policy.toml."""

    def append(document: TOMLDocument) -> None:
        rule = tomlkit.table()
        _fill(rule, values)
        if "rules" not in document:
            document["rules"] = tomlkit.aot()
        rules: Any = document["rules"]
        rules.append(rule)

    _edit(path, append, check)


def set_boundaries(path: Path, values: Mapping[str, Value], check: Check) -> None:
    """Set keys of `[boundaries]` in policy.toml; None removes a key."""
    _edit(path, lambda document: _fill(_table(document, "boundaries"), values), check)


def _as_config(path: Path) -> Check:
    return lambda text: read(text, path.name, {})


def _edit(path: Path, change: Callable[[TOMLDocument], None], check: Check) -> None:
    try:
        text = read_owned(path)[0]
    except FileNotFoundError:
        text = ""
    try:
        document = tomlkit.parse(f"{text.rstrip()}\n\n" if text.strip() else "")
        change(document)
    except TOMLKitError as error:
        raise Misconfigured([Complaint((), f"cannot be edited: {error}", path.name)]) from None
    edited = f"{tomlkit.dumps(document).strip()}\n"
    check(edited)
    write_private(path, edited.encode())


def _table(document: TOMLDocument, *names: str) -> Table:
    here: Any = document
    for depth, name in enumerate(names):
        if name not in here:
            here[name] = tomlkit.table(is_super_table=depth < len(names) - 1)
        here = here[name]
    return here  # type: ignore[no-any-return]  # tomlkit types the items of a container as Any


def _fill(table: Table | Container, values: Mapping[str, Value]) -> None:
    is_new = not table
    for key, value in values.items():
        if value is not None:
            table[key] = value
        elif key in table:
            table.remove(key)
    if is_new:
        table.add(tomlkit.nl())


def _people(document: TOMLDocument) -> Any:
    return document.get("people", {}).get("subjects", {})


def _drop(document: TOMLDocument, kind: str, name: str) -> None:
    tables: Any = document.get(kind, {})
    if name not in tables:
        raise Misconfigured([Complaint((kind, name), "is not there")])
    tables.remove(name)
