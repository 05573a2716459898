"""Every command a session answers, and how its tagged line ends."""

from __future__ import annotations

import codecs
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap import appending, fetching, filing, flagging, mailbox_verbs, search_keys
from mcp_proton.simulator.imap.answers import NO_SUCH_MESSAGE, READ_ONLY, Misuse, Refusal
from mcp_proton.simulator.imap.search_keys import All, Candidate, Either, InSet, Key, Not

if TYPE_CHECKING:
    import datetime as dt

    from mcp_proton.simulator.imap.commands import Command
    from mcp_proton.simulator.imap.session import Session

Verb = Callable[["Session", "Command"], Awaitable[str]]

_DONE = "command completed in {n} microsec."


async def _capability(session: Session, _command: Command) -> str:
    await session.send_line(f"* CAPABILITY {session.capabilities()}".encode())
    return "OK CAPABILITY"


async def _noop(session: Session, _command: Command) -> str:
    if session.selection is not None:
        async with session.view.gate.reading():
            await session.flush(expunges=True)
    return f"OK {_DONE}"


async def _check(session: Session, _command: Command) -> str:
    session.selected()
    async with session.view.gate.reading():
        await session.flush(expunges=True)
    return "OK CHECK"


async def _id(session: Session, _command: Command) -> str:
    version = session.simulator.settings.version
    told = f'("name" "Proton Mail Bridge" "version" "{version}" "os" "linux" "vendor" "TODO" "support-url" "TODO")'
    await session.send_line(f"* ID {told if version else 'NIL'}".encode())
    return "OK ID"


async def _logout(session: Session, _command: Command) -> str:
    await session.send_line(b"* BYE")
    return "OK LOGOUT"


async def _starttls(_session: Session, _command: Command) -> str:
    return "OK Begin TLS negotiation now"


async def _login(session: Session, command: Command) -> str:
    if session.user is not None:
        raise Misuse("session is already authenticated")
    session.log_in(*command.words)
    return f"OK [CAPABILITY {session.capabilities()}] Logged in"


async def _bad_done(_session: Session, _command: Command) -> str:
    return "NO bad command"


async def _list(session: Session, command: Command) -> str:
    async with session.view.gate.reading():
        await mailbox_verbs.list_mailboxes(session, command)
    return f"OK {command.name}"


async def _select(session: Session, command: Command) -> str:
    async with session.view.gate.reading():
        return f"OK {await mailbox_verbs.select(session, command)}"


async def _status(session: Session, command: Command) -> str:
    async with session.view.gate.reading():
        await mailbox_verbs.status(session, command)
    return "OK STATUS"


async def _create(session: Session, command: Command) -> str:
    async with session.view.gate.writing():
        await mailbox_verbs.create(session, command)
    return "OK CREATE"


async def _delete(session: Session, command: Command) -> str:
    async with session.view.gate.writing():
        await mailbox_verbs.delete(session, command)
    return "OK DELETE"


async def _rename(session: Session, command: Command) -> str:
    async with session.view.gate.writing():
        await mailbox_verbs.rename(session, command)
    return "OK RENAME"


async def _subscribe(session: Session, command: Command) -> str:
    async with session.view.gate.writing():
        return f"OK {await mailbox_verbs.subscribe(session, command)}"


async def _unselect(session: Session, _command: Command) -> str:
    session.selected()
    session.selection = None
    return "OK UNSELECT"


async def _close(session: Session, command: Command) -> str:
    if not session.selected().read_only:
        async with session.view.gate.writing():
            await filing.expunge(session, command)
    await session.flush(expunges=True, closes=True)
    session.selection = None
    return "OK CLOSE"


async def _expunge(session: Session, command: Command) -> str:
    if session.selected().read_only:
        raise Refusal(READ_ONLY)
    async with session.view.gate.writing():
        await filing.expunge(session, command)
    await session.flush(expunges=True)
    return "OK EXPUNGE"


async def _fetch(session: Session, command: Command) -> str:
    session.selected()
    writes = any(not item.peek for item in command.items)
    async with session.view.gate.writing() if writes else session.view.gate.reading():
        await fetching.fetch(session, command)
    return await _completed(session)


async def _store(session: Session, command: Command) -> str:
    session.selected()
    async with session.view.gate.writing():
        await flagging.store(session, command)
    return await _completed(session)


async def _copy(session: Session, command: Command) -> str:
    session.selected()
    async with session.view.gate.writing():
        code = await filing.copy(session, command)
    await session.flush(expunges=False)
    return f"OK {code} {_DONE}" if code else f"OK {_DONE}"


async def _move(session: Session, command: Command) -> str:
    session.selected()
    async with session.view.gate.writing():
        code = await filing.move(session, command)
    if code:
        await session.send_line(f"* OK {code}".encode())
    await session.flush(expunges=True)
    return f"OK {_DONE}"


async def _append(session: Session, command: Command) -> str:
    async with session.view.gate.writing():
        code, mailbox = await appending.append(session, command)
    if session.selected_mailbox is mailbox:
        await session.flush(expunges=True)
    return f"OK {code} APPEND"


async def _idle(session: Session, command: Command) -> str:
    session.view  # noqa: B018 - refuses before login
    return await session.idle(command.tag)


async def _search(session: Session, command: Command) -> str:
    selection = session.selected()
    if command.other and not _knows_charset(command.other):
        raise Refusal("[BADCHARSET]")
    key = command.key or All(())
    if not selection.entries and _names_uids(key):
        raise Refusal(NO_SUCH_MESSAGE)
    async with session.view.gate.reading():
        if key.needs_literal:
            for entry in selection.entries:
                await fetching.load(session, entry.message)
        try:
            found = await search_keys.search(_candidates(session), key)
        except search_keys.UnparsableDateError as error:
            raise Refusal(f"failed to parse date: {error}") from None
    numbers = "".join(f" {one.uid if command.by_uid else one.number}" for one in found)
    await session.send_line(f"* SEARCH{numbers}".encode())
    return await _completed(session)


def _candidates(session: Session) -> Iterator[Candidate]:
    selection = session.selected()
    count = len(selection.entries)
    last_uid = selection.uids[-1] if count else 0
    zone: dt.tzinfo = session.simulator.zone
    for number, (entry, flags) in enumerate(zip(list(selection.entries), list(selection.flags), strict=True), 1):
        yield Candidate(number, entry.uid, flags, entry.message, count, last_uid, zone)


def _names_uids(key: Key) -> bool:
    if isinstance(key, All):
        return any(_names_uids(one) for one in key.keys)
    if isinstance(key, Either):
        return _names_uids(key.first) or _names_uids(key.second)
    if isinstance(key, Not):
        return _names_uids(key.key)
    return isinstance(key, InSet) and key.by_uid


def _knows_charset(name: str) -> bool:
    try:
        codecs.lookup(name)
    except (LookupError, ValueError):
        return False
    return True


async def _completed(session: Session) -> str:
    put_off = await session.flush(expunges=False)
    return f"OK [EXPUNGEISSUED] {_DONE}" if put_off else f"OK {_DONE}"


VERBS: dict[str, Verb] = {
    "CAPABILITY": _capability, "NOOP": _noop, "CHECK": _check, "ID": _id, "LOGOUT": _logout, "STARTTLS": _starttls,
    "LOGIN": _login, "AUTHENTICATE": _login, "DONE": _bad_done, "LIST": _list, "LSUB": _list, "SELECT": _select,
    "EXAMINE": _select, "STATUS": _status, "CREATE": _create, "DELETE": _delete, "RENAME": _rename,
    "SUBSCRIBE": _subscribe, "UNSUBSCRIBE": _subscribe, "UNSELECT": _unselect, "CLOSE": _close, "EXPUNGE": _expunge,
    "FETCH": _fetch, "STORE": _store, "COPY": _copy, "MOVE": _move, "APPEND": _append, "IDLE": _idle,
    "SEARCH": _search,
}  # fmt: skip

IN_SELECTED = frozenset({"CHECK", "CLOSE", "EXPUNGE", "UNSELECT", "SEARCH", "FETCH", "STORE", "COPY", "MOVE"})
"""The commands of the selected state, which tell what happened whatever becomes of them."""
