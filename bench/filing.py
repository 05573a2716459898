"""Moving and flagging: ours against a raw socket that sends the same commands (or one command), and against imap-tools."""

from __future__ import annotations

import itertools

import imap_tools

from mcp_proton.bridge.changing.looking import InternalIdToken
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange, Page
from mcp_proton.domain.query import All
from mcp_proton.imap import keys
from mcp_proton.imap.backend import ImapBackend

from .places import Place
from .timing import Figure, faster, medians, ratio

PAGE = 150
RUNS = 5
ALL_SEEN, NONE_SEEN = FlagChange(add=frozenset({"seen"})), FlagChange(remove=frozenset({"seen"}))


class Blocks:
    """UIDs of one mailbox in blocks of `size`, each given out once."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._starts = itertools.count(1, size)

    def take(self) -> range:
        start = next(self._starts)
        return range(start, start + self._size)


async def moves(place: Place, count: int) -> list[Figure]:
    """Move `count` messages of INBOX into Archive, others each time: one raw MOVE is the floor."""
    backend, raw, blocks = place.backend(), place.raw(), Blocks(count)
    peer = imap_tools.MailBoxUnencrypted(place.host, place.port).login(place.username, place.password)
    try:
        inbox, target = await _box(backend, Role.INBOX), await _box(backend, Role.ARCHIVE)
        uidvalidity = await _uidvalidity(backend, inbox)
        raw.command(b"SELECT INBOX")

        async def ours() -> None:
            await _moved(backend, inbox, uidvalidity, blocks.take(), target)

        async def floor() -> None:
            some = blocks.take()
            raw.command(b"UID MOVE %d:%d Archive" % (some[0], some[-1]))

        async def theirs() -> None:
            peer.move([str(uid) for uid in blocks.take()], "Archive")

        mine, bottom, other = await medians(RUNS, ours, floor, theirs)
    finally:
        raw.close()
        await backend.aclose()
    return [
        ratio(f"{place.name}: move of {count} against one raw MOVE", mine, bottom, 1.5),
        faster(f"{place.name}: move of {count}, faster than imap-tools", mine, other, 1.0),
    ]


async def recipe(place: Place, count: int) -> list[Figure]:
    """The same on Bridge: the floor is a script that sends the same safe recipe, page by page."""
    backend, raw, blocks = place.backend(), place.raw(), Blocks(count)
    items = b"(" + b" ".join(word.encode() for word in InternalIdToken.items.words()) + b")"
    try:
        inbox, target = await _box(backend, Role.INBOX), await _box(backend, Role.ARCHIVE)
        uidvalidity = await _uidvalidity(backend, inbox)
        raw.command(b"SELECT INBOX")

        async def ours() -> None:
            await _moved(backend, inbox, uidvalidity, blocks.take(), target)

        async def floor() -> None:
            some = blocks.take()
            raw.command(b"NOOP")
            for at in range(0, len(some), PAGE):
                page = some[at : at + PAGE]
                named = b"%d:%d" % (page[0], page[-1])
                raw.command(b"UID FETCH %s %s" % (named, items))
                raw.commands([b"NOOP", b"UID MOVE %s Archive" % named])

        mine, bottom = await medians(RUNS, ours, floor)
    finally:
        raw.close()
        await backend.aclose()
    return [ratio(f"{place.name}: move of {count} against a raw script with the same recipe", mine, bottom, 1.5)]


async def flags(place: Place, count: int) -> list[Figure]:
    """Mark `count` messages read and unread again, in turns."""
    backend, raw = place.backend(), place.raw()
    try:
        inbox = await _box(backend, Role.INBOX)
        uidvalidity = await _uidvalidity(backend, inbox)
        handles = [keys.handle(inbox, uidvalidity, uid) for uid in range(1, count + 1)]
        raw.command(b"SELECT INBOX")
        changes, words = itertools.cycle((ALL_SEEN, NONE_SEEN)), itertools.cycle((b"+", b"-"))

        async def ours() -> None:
            fates = await backend.set_flags(handles, next(changes))
            assert {fate.ending for fate in fates} == {Ending.DONE}

        async def floor() -> None:
            raw.command(b"UID STORE 1:%d %sFLAGS.SILENT (\\Flagged)" % (count, next(words)))

        mine, bottom = await medians(RUNS, ours, floor)
    finally:
        raw.close()
        await backend.aclose()
    return [ratio(f"{place.name}: flagging {count} against one raw STORE", mine, bottom, 1.5)]


async def _moved(backend: ImapBackend, inbox: Mailbox, uidvalidity: int, uids: range, target: Mailbox) -> None:
    handles: list[Handle] = [keys.handle(inbox, uidvalidity, uid) for uid in uids]
    fates = await backend.move(handles, target)
    assert {fate.ending for fate in fates} == {Ending.DONE}, {(fate.ending, fate.code) for fate in fates}


async def _box(backend: ImapBackend, role: Role) -> Mailbox:
    return next(box for box in await backend.mailboxes() if box.role is role)


async def _uidvalidity(backend: ImapBackend, box: Mailbox) -> int:
    (row,) = (await backend.search([box], All(), Page(1))).rows
    return keys.read(row.handle.key)[0]
