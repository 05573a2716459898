"""FETCH: each item as Bridge prints it, and the read mark that goes with any body not peeked at (facts 8)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap import flagging, sets
from mcp_proton.simulator.imap.answers import Refusal
from mcp_proton.simulator.imap.selection import flag_list
from mcp_proton.simulator.proton.api import ApiError
from mcp_proton.simulator.texts import structure
from mcp_proton.simulator.view.updates import SEEN, with_flags

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.simulator.imap.commands import Command, FetchItem
    from mcp_proton.simulator.imap.selection import Selection
    from mcp_proton.simulator.imap.session import Session
    from mcp_proton.simulator.view.served import ServedMessage

_WITHOUT_LITERAL = frozenset({"FLAGS", "UID", "INTERNALDATE", "RFC822.SIZE", "ENVELOPE", "BODYSTRUCTURE"})
_STORE_PATH = "/home/user/.local/share/protonmail/bridge-v3/gluon/backend/store"
_AT_ONCE = 8
# After so many messages other sessions get their turn.
_TURN = 64
_ONLY_SEEN = frozenset({SEEN})


async def fetch(session: Session, command: Command) -> None:
    """Send what was asked for; an API call that marks read follows, and its failure is the command's."""
    selection = session.selected()
    marks = any(not item.peek for item in command.items) and not selection.read_only
    newly_seen: list[ServedMessage] = []
    positions = sets.positions(selection, command.numbers, by_uid=command.by_uid)
    for count, position in enumerate(_in_bridges_order(session, command, positions), 1):
        message = selection.entries[position].message
        if any(_needs_literal(item) for item in command.items):
            await load(session, message)
        seen_now = marks and SEEN not in selection.flags[position]
        if seen_now:
            selection.flags[position] = with_flags(selection.flags[position], _ONLY_SEEN)
            newly_seen.append(message)
        await session.send_line(_response(selection, position, command, seen_now=seen_now))
        if count % _TURN == 0:
            await asyncio.sleep(0)
    await _mark_seen(session, command, newly_seen)


def _in_bridges_order(session: Session, command: Command, positions: list[int]) -> Iterable[int]:
    """Bridge answers in parallel for two messages with literals, or more than four without."""
    few = 1 if any(_needs_literal(item) for item in command.items) else 4
    return positions if len(positions) <= few else session.simulator.any_order(positions, _AT_ONCE)


async def load(session: Session, message: ServedMessage) -> None:
    """Make sure Bridge has the literal: when its disk cache lost it, the API is asked."""
    if not message.lost:
        return
    try:
        await session.api.call("GET", f"/mail/v4/messages/{message.remote_id}", lambda: None)
    except ApiError as error:
        path = f"{_STORE_PATH}/{message.gluon_id}"
        raise Refusal(
            f"message failed to load from cache (open {path}: no such file or directory), "
            f"failed to download from connector: {error}"
        ) from None
    message.lost = False


def _needs_literal(item: FetchItem) -> bool:
    return item.section is not None or (item.name not in _WITHOUT_LITERAL and item.name != "BODY")


async def _mark_seen(session: Session, command: Command, messages: list[ServedMessage]) -> None:
    unseen = [message for message in messages if SEEN not in message.flags]
    if unseen:
        await session.connector.set_read([message.remote_id for message in unseen], read=True)
    view = flagging.View(session, session.selected().mailbox, quiet=False, by_uid=command.by_uid)
    view.change(messages, "add", _ONLY_SEEN)


def _response(selection: Selection, position: int, command: Command, *, seen_now: bool) -> bytes:
    parts = [_item(selection, position, item) for item in command.items]
    if command.by_uid and not any(item.name == "UID" for item in command.items):
        parts.append(f"UID {selection.uids[position]}".encode())
    if seen_now:
        parts.append(_flags(selection, position))
    return b"* %d FETCH (%b)" % (position + 1, b" ".join(parts))


def _flags(selection: Selection, position: int) -> bytes:
    return f"FLAGS ({flag_list(selection.flags[position])})".encode()


def _item(selection: Selection, position: int, item: FetchItem) -> bytes:
    message = selection.entries[position].message
    if item.section is not None:
        return _literal(item.label, _part(message, item))
    if item.name == "FLAGS":
        return _flags(selection, position)
    if item.name == "UID":
        return f"UID {selection.uids[position]}".encode()
    return _message_item(message, item.name)


def _message_item(message: ServedMessage, name: str) -> bytes:
    if name == "INTERNALDATE":
        return f'INTERNALDATE "{message.internal_date}"'.encode()
    if name == "RFC822.SIZE":
        return f"RFC822.SIZE {message.size}".encode()
    if name == "ENVELOPE":
        return b"ENVELOPE " + message.envelope
    if name == "BODY":
        return b"BODY " + message.body
    if name == "BODYSTRUCTURE":
        return b"BODYSTRUCTURE " + message.body_structure
    section = {"RFC822": "", "RFC822.HEADER": "HEADER", "RFC822.TEXT": "TEXT"}[name]
    return _literal(name, _section(message, section))


def _part(message: ServedMessage, item: FetchItem) -> bytes:
    content = _section(message, item.section or "")
    return content if item.start is None else content[item.start : item.start + item.length]


def _section(message: ServedMessage, path: str) -> bytes:
    if not path:
        return message.literal
    try:
        return structure.section(message.literal, path)
    except structure.SectionError as error:
        raise Refusal(str(error)) from None


def _literal(label: str, content: bytes) -> bytes:
    return b"%b {%d}\r\n%b" % (label.encode("latin-1"), len(content), content)
