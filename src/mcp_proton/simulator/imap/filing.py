"""COPY, MOVE, EXPUNGE and CLOSE in Bridge's own order of steps, with all that can go wrong between them (facts 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.imap import sets
from mcp_proton.simulator.imap.answers import READ_ONLY, TRY_CREATE, Refusal
from mcp_proton.simulator.proton.connector import NOT_ALLOWED
from mcp_proton.simulator.proton.labels import Kind

if TYPE_CHECKING:
    from mcp_proton.simulator.imap.commands import Command
    from mcp_proton.simulator.imap.selection import Selection
    from mcp_proton.simulator.imap.session import Session
    from mcp_proton.simulator.view.served import ServedMessage
    from mcp_proton.simulator.view.store import Entry, Mailbox


def _target(session: Session, command: Command) -> tuple[Selection, Mailbox, list[Entry]]:
    selection = session.selected()
    if selection.read_only:
        raise Refusal(READ_ONLY)
    target = session.view.by_path(command.mailbox)
    if target is None:
        raise Refusal(TRY_CREATE)
    if target.kind is Kind.RECOVERED:
        raise Refusal(NOT_ALLOWED)
    positions = sets.positions(selection, command.numbers, by_uid=command.by_uid)
    return selection, target, [selection.entries[position] for position in positions]


async def copy(session: Session, command: Command) -> str:
    """COPY; returns the response code to put into the tagged OK."""
    selection, target, entries = _target(session, command)
    if selection.mailbox.kind is Kind.RECOVERED:
        return await _out_of_recovered(session, target, entries)
    messages = _known(session, entries)
    there = [message for message in dict.fromkeys(messages) if message in target.entries]
    if there:
        await session.connector.remove(_ids(there), target)
    await session.connector.add(_ids(messages), target)
    _check_unique(messages, target)
    for message in there:
        session.view.take(target, message)
    return _put(session, target, entries, messages, by=session)


async def move(session: Session, command: Command) -> str:
    """MOVE; returns the response code of the untagged OK that precedes the EXPUNGEs."""
    selection, target, entries = _target(session, command)
    source = selection.mailbox
    if source.kind is Kind.RECOVERED:
        code = await _out_of_recovered(session, target, entries)
        for entry in entries:
            session.view.take(source, entry.message)
        return code
    if source is target:
        return await _move_within(session, target, entries)
    there = [message for message in dict.fromkeys(_known(session, entries)) if message in target.entries]
    if there:
        # This runs before anything is refused, and for messages that only an old list still shows in the source.
        await session.connector.remove(_ids(there), target)
    # A message that has got another UID since is still here.
    still_here = [entry for entry in entries if entry.message in source.entries]
    messages = _known(session, still_here)
    leaves = await session.connector.move(_ids(messages), source, target)
    _check_unique(messages, target)
    for message in there:
        session.view.take(target, message)
    # The codes name all that were asked for, and the new UIDs of those that were moved.
    code = _put(session, target, entries, messages, by=session)
    for entry in still_here if leaves else ():
        session.view.take(source, entry.message)
    return code


async def _move_within(session: Session, mailbox: Mailbox, entries: list[Entry]) -> str:
    """MOVE into the same mailbox: taken out and put in again, whether the mailbox still has them or not."""
    messages = _known(session, entries)
    await session.connector.remove(_ids(messages), mailbox)
    await session.connector.add(_ids(messages), mailbox)
    _check_unique(messages, mailbox)
    for message in messages:
        session.view.take(mailbox, message)
    return _put(session, mailbox, entries, messages, by=None)


async def expunge(session: Session, command: Command) -> None:
    """EXPUNGE and UID EXPUNGE: every marked message, or those of them that are named."""
    selection = session.selected()
    if selection.read_only:
        raise Refusal(READ_ONLY)
    positions = (
        sets.positions(selection, command.numbers, by_uid=True) if command.by_uid else range(len(selection.entries))
    )
    marked = [selection.entries[position].message for position in positions if "\\Deleted" in selection.flags[position]]
    messages = [message for message in dict.fromkeys(marked) if message in selection.mailbox.entries]
    if not messages:
        return
    if selection.mailbox.kind is not Kind.RECOVERED:
        await session.connector.remove(_ids(messages), selection.mailbox)
    for message in messages:
        session.view.take(selection.mailbox, message)


async def _out_of_recovered(session: Session, target: Mailbox, entries: list[Entry]) -> str:
    if target.kind is Kind.ALL:
        raise Refusal(NOT_ALLOWED)
    made = [await session.appender.import_recovered(entry.message, target) for entry in entries]
    await session.connector.add(_ids(made), target)
    return _put(session, target, entries, made, by=session)


def _put(
    session: Session, target: Mailbox, sources: list[Entry], messages: list[ServedMessage], *, by: Session | None
) -> str:
    if not messages:
        return ""
    for message in messages:
        session.view.messages.setdefault(message.remote_id, message)
    uids = [session.view.put(target, message, by=by).uid for message in messages]
    return f"[COPYUID {target.uidvalidity} {sets.compact(sorted(e.uid for e in sources))} {sets.compact(uids)}]"


def _check_unique(messages: list[ServedMessage], target: Mailbox) -> None:
    if len(set(messages)) < len(messages):
        # Bridge's database finds out when the server has done it all.
        raise Refusal(f"UNIQUE constraint failed: mailbox_message_{target.row}.message_remote_id")


def _known(session: Session, entries: list[Entry]) -> list[ServedMessage]:
    # A session that outlived a resync lists messages Bridge has made anew since.
    return [session.view.messages.get(entry.message.remote_id, entry.message) for entry in entries]


def _ids(messages: list[ServedMessage]) -> list[str]:
    return [message.remote_id for message in messages]
