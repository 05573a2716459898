"""STORE: what reaches the server, what stays local, and what a replacing STORE leaves behind in Bridge (facts 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator import sets
from mcp_proton.simulator.answers import READ_ONLY, Refusal
from mcp_proton.simulator.updates import (
    DELETED,
    FLAGGED,
    FORWARDED,
    SEEN,
    FlagChange,
    has_flag,
    with_flags,
    without_flags,
)

if TYPE_CHECKING:
    from mcp_proton.simulator.commands import Command
    from mcp_proton.simulator.selection import Selection
    from mcp_proton.simulator.served import ServedMessage
    from mcp_proton.simulator.session import Session


async def store(session: Session, command: Command) -> None:
    """Change the server first, page by page; then the view, for every session."""
    selection = session.selected()
    if selection.read_only:
        raise Refusal(READ_ONLY)
    positions = sets.positions(selection, command.numbers, by_uid=command.by_uid)
    entries = list(dict.fromkeys(selection.entries[position] for position in positions))
    flags = frozenset(command.flags)
    if any(has_flag(FORWARDED, flag) for flag in flags):
        flags |= FORWARDED
    await _change_server(session, [entry.message for entry in entries], command.how, flags)
    for entry in entries:
        if has_flag(flags, DELETED) or command.how == "replace":
            entry.deleted = command.how != "remove" and has_flag(flags, DELETED)
        _change_message(entry.message, command.how, without_flags(flags, frozenset({DELETED})))
        quiet = session if command.silent else None
        change = FlagChange(entry.message, command.how, flags, quiet_for=quiet)  # type: ignore[arg-type] # from the parser
        _tell(session, selection, change)


def _tell(session: Session, selection: Selection, change: FlagChange) -> None:
    if change.message not in selection.mailbox.entries:
        # It has left the mailbox, but this session still lists it, and sees its own change.
        selection.notify_of_own(change)
    session.view.tell_flags(change.message, change, origin=selection.mailbox)


def _change_message(message: ServedMessage, how: str, flags: frozenset[str]) -> None:
    if how == "remove":
        message.flags = without_flags(message.flags, flags)
    elif how == "add":
        message.flags = with_flags(message.flags, flags)
    elif flags:
        # A STORE that replaces all flags by none leaves the old ones in Bridge's database until the next event.
        message.flags = flags


async def _change_server(session: Session, messages: list[ServedMessage], how: str, flags: frozenset[str]) -> None:
    async def read(ids: list[str], on: bool) -> None:
        await session.connector.set_read(ids, read=on)

    async def star(ids: list[str], on: bool) -> None:
        await session.connector.set_star(ids, on=on)

    async def forwarded(ids: list[str], on: bool) -> None:
        await session.connector.set_forwarded(ids, on=on)

    for flag, call in ((SEEN, read), (FLAGGED, star), ("Forwarded", forwarded)):
        named = has_flag(flags, flag)
        if how == "replace":
            wanted = named
        elif named:
            wanted = how == "add"
        else:
            continue
        changed = [message.remote_id for message in messages if has_flag(message.flags, flag) is not wanted]
        if changed:
            await call(changed, wanted)
