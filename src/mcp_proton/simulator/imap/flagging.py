"""STORE: what reaches the server, what stays local, and what a replacing STORE leaves behind in Bridge (facts 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mcp_proton.simulator.imap import sets
from mcp_proton.simulator.imap.answers import READ_ONLY, Refusal
from mcp_proton.simulator.view.updates import (
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
    from collections.abc import Iterable, Sequence

    from mcp_proton.simulator.imap.commands import Command
    from mcp_proton.simulator.imap.session import Session
    from mcp_proton.simulator.view.served import ServedMessage
    from mcp_proton.simulator.view.store import Mailbox

_ONLY_DELETED = frozenset({DELETED})
_AT_ONCE = 500


async def store(session: Session, command: Command) -> None:
    """Change the server first, page by page; then the view, for every session."""
    selection = session.selected()
    if selection.read_only:
        raise Refusal(READ_ONLY)
    positions = sets.positions(selection, command.numbers, by_uid=command.by_uid)
    messages = list(dict.fromkeys(selection.entries[position].message for position in positions))
    flags = frozenset(command.flags)
    if any(has_flag(FORWARDED, flag) for flag in flags):
        flags |= FORWARDED
    await _change_server(session, messages, command.how, flags)
    view = View(session, selection.mailbox, quiet=command.silent, by_uid=command.by_uid)
    if command.how == "replace":
        view.replace(messages, flags)
    else:
        view.change(messages, command.how, flags)  # type: ignore[arg-type] # from the parser


class View:
    """What Bridge's database keeps of a change of flags in a mailbox, and what sessions are told of it."""

    def __init__(self, session: Session, mailbox: Mailbox, *, quiet: bool, by_uid: bool) -> None:
        self._view = session.view
        self._mailbox = mailbox
        self._quiet_for = session if quiet else None
        self._with_uid_for = session if by_uid else None

    def change(self, messages: Iterable[ServedMessage], how: Literal["add", "remove"], flags: frozenset[str]) -> None:
        """Add or remove flags. Nothing is told of a message that has them already, or has none of them."""
        others = without_flags(flags, _ONLY_DELETED)
        for message in messages:
            if len(others) < len(flags):
                self._mark_deleted(message, on=how == "add")
                self._tell(message, how, _ONLY_DELETED)
            changed = (with_flags if how == "add" else without_flags)(message.flags, others)
            if changed != message.flags:
                message.flags = changed
                self._tell(message, how, others)

    def replace(self, messages: Sequence[ServedMessage], flags: frozenset[str]) -> None:
        """Replace all flags. The database gives the new ones to the first of 500 messages only, until the next event."""
        others = without_flags(flags, _ONLY_DELETED)
        for number, message in enumerate(messages):
            self._mark_deleted(message, on=len(others) < len(flags))
            if others:
                # Of all messages those go that aren't named; if none is, not even that.
                message.flags = others if number % _AT_ONCE == 0 else message.flags & others
            self._tell(message, "replace", flags)

    def _mark_deleted(self, message: ServedMessage, *, on: bool) -> None:
        entry = self._mailbox.entries.get(message)
        if entry is not None:
            entry.deleted = on

    def _tell(self, message: ServedMessage, how: Literal["add", "remove", "replace"], flags: frozenset[str]) -> None:
        change = FlagChange(message, how, flags, quiet_for=self._quiet_for, with_uid_for=self._with_uid_for)
        self._view.tell_flags(change, origin=self._mailbox)


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
            await call(session.connector.in_any_order(changed), wanted)
