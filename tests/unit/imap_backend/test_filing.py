"""Moving and destroying on servers that lack MOVE, UIDPLUS or both, and that stop answering in the middle."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import FlagChange
from mcp_proton.imap import keys
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Credentials
from tests.unit.imap.scripted import OK, Reply, ScriptedServer, Talk, secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mcp_proton.domain.mail import Mailbox

LISTED = (
    b'* LIST () "/" "INBOX"\r\n* LIST (\\Archive) "/" "Archive"\r\n* LIST (\\Trash) "/" "Trash"\r\n'
    b'* LIST () "/" "Work"\r\n* LIST () "/" "Work/Below"\r\n' + OK
)
BASIC = b"IMAP4rev1 ID"
SELECTED = (
    b"* FLAGS (\\Seen \\Deleted)\r\n* 3 EXISTS\r\n* 0 RECENT\r\n* OK [PERMANENTFLAGS (\\Seen \\Deleted)]\r\n"
    b"* OK [UIDNEXT 9]\r\n* OK [UIDVALIDITY 1]\r\n@TAG@ OK [READ-WRITE] SELECT\r\n"
)


class Script(ScriptedServer):
    """A server that has UIDs 1 to 3 in INBOX, until a script takes them away."""

    def __init__(self, capabilities: bytes) -> None:
        replies: dict[bytes, Reply] = {
            b"LIST": LISTED,
            b"SELECT": SELECTED,
            b"UID FETCH": self.fetch,
            b"UID SEARCH": self.search,
        }
        super().__init__(replies, capabilities=capabilities)
        self.there = {1, 2, 3}

    async def fetch(self, talk: Talk, tag: bytes, command: bytes) -> None:
        asked = set(named(command))
        for uid in sorted(self.there & asked):
            items = b'RFC822.SIZE 10 INTERNALDATE "01-Mar-2026 12:00:00 +0000"'
            envelope = b'ENVELOPE (NIL NIL NIL NIL NIL NIL NIL NIL NIL "<%d@x>")' % uid
            await talk.say(b"* %d FETCH (UID %d FLAGS () %s %s)\r\n" % (uid, uid, items, envelope))
        await talk.say(OK, tag)

    async def search(self, talk: Talk, tag: bytes, command: bytes) -> None:
        asked = set(named(command.replace(b"SEARCH UID", b"SEARCH")))
        await talk.say(b"* SEARCH" + b"".join(b" %d" % uid for uid in sorted(self.there & asked)) + b"\r\n" + OK, tag)

    def words(self, *beginnings: bytes) -> list[bytes]:
        return [command for command in self.received if command.startswith(beginnings)]


def named(command: bytes) -> list[int]:
    found: list[int] = []
    for piece in command.split(b" ")[2].split(b","):
        low, _, high = piece.partition(b":")
        found += range(int(low), int(high or low) + 1)
    return found


@asynccontextmanager
async def account(capabilities: bytes) -> AsyncIterator[tuple[Script, ImapBackend]]:
    server = Script(capabilities)
    await server.start()
    backend = ImapBackend("me", server.endpoint(), Credentials("me@example.org", secret))
    try:
        yield server, backend
    finally:
        await backend.aclose()
        await server.stop()


async def box(backend: ImapBackend, path: str) -> Mailbox:
    return next(one for one in await backend.mailboxes() if one.path == path)


async def handles(backend: ImapBackend, *uids: int) -> list[Handle]:
    inbox = await box(backend, "INBOX")
    return [keys.handle(inbox, 1, uid) for uid in uids]


def endings(fates: Sequence[Fate]) -> list[tuple[Ending, str | None]]:
    return [(fate.ending, fate.code) for fate in fates]


async def test_without_move_the_originals_that_were_copied_are_expunged_by_uid() -> None:
    """P-65: COPYUID says which these are."""
    async with account(BASIC + b" UIDPLUS") as (server, backend):
        server.replies[b"UID COPY"] = b"@TAG@ OK [COPYUID 7 1,3 11,12] done\r\n"
        fates = await backend.move(await handles(backend, 1, 3), await box(backend, "Archive"))
        sent = server.words(b"UID COPY", b"UID STORE", b"UID EXPUNGE", b"EXPUNGE", b"CLOSE", b"UID MOVE")
    assert endings(fates) == [(Ending.DONE, None)] * 2
    assert [fate.now and keys.read(fate.now.key) for fate in fates] == [(7, 11), (7, 12)]
    assert sent == [b'UID COPY 1,3 "Archive"', b"UID STORE 1,3 +FLAGS.SILENT (\\Deleted)", b"UID EXPUNGE 1,3"]


async def test_without_uidplus_nothing_is_removed_and_nothing_copied() -> None:
    """N-16: plain EXPUNGE would take what others marked."""
    async with account(BASIC) as (server, backend):
        moved = await backend.move(await handles(backend, 1), await box(backend, "Archive"))
        destroyed = await backend.destroy(await handles(backend, 1))
        assert not server.words(b"UID COPY", b"UID STORE", b"EXPUNGE", b"UID EXPUNGE", b"CLOSE")
    assert endings([*moved, *destroyed]) == [(Ending.FAILED, "unsupported")] * 2


async def test_a_server_that_moves_without_telling_where_to_is_believed_without_a_handle() -> None:
    """P-55, A-71: MOVE without UIDPLUS."""
    async with account(BASIC + b" MOVE") as (server, backend):
        fates = await backend.move(await handles(backend, 1, 7), await box(backend, "Archive"))
        assert server.words(b"UID MOVE") == [b'UID MOVE 1 "Archive"']
    assert endings(fates) == [(Ending.DONE, None), (Ending.FAILED, "stale_handle")]
    assert fates[0].now is None


async def test_a_copy_whose_original_stays_is_told_as_half_done() -> None:
    """P-61: twice there is better told than hidden; and no mark is left behind."""
    async with account(BASIC + b" UIDPLUS") as (server, backend):
        server.replies[b"UID COPY"] = b"@TAG@ OK [COPYUID 7 1 11] done\r\n"
        server.replies[b"UID EXPUNGE"] = b"@TAG@ NO not today\r\n"
        (fate,) = await backend.move(await handles(backend, 1), await box(backend, "Archive"))
        assert server.words(b"UID STORE")[-1] == b"UID STORE 1 -FLAGS.SILENT (\\Deleted)"
    assert endings([fate]) == [(Ending.FAILED, "half_done")]
    assert fate.now is not None


@pytest.mark.parametrize("verb", ["move", "copy", "destroy", "set_flags"])
async def test_a_connection_lost_before_the_answer_leaves_it_uncertain_and_is_not_repeated(verb: str) -> None:
    """P-61, P-55."""

    async def hang_up(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.hang_up()

    async with account(BASIC + b" UIDPLUS MOVE") as (server, backend):
        for word in (b"UID MOVE", b"UID COPY", b"UID STORE", b"UID EXPUNGE"):
            server.replies[word] = hang_up
        some, archive = await handles(backend, 1, 2), await box(backend, "Archive")
        match verb:
            case "move":
                fates = await backend.move(some, archive)
            case "copy":
                fates = await backend.copy(some, archive)
            case "destroy":
                fates = await backend.destroy(some)
            case _:
                fates = await backend.set_flags(some, FlagChange(add=frozenset({"seen"})))
        assert len(server.words(b"UID MOVE", b"UID COPY", b"UID STORE", b"UID EXPUNGE")) == 1
    assert endings(fates) == [(Ending.UNCERTAIN, "outcome_unknown")] * 2


async def test_what_is_uncertain_is_settled_by_looking() -> None:
    """P-61: still there, arrived, or neither."""
    async with account(BASIC + b" UIDPLUS MOVE") as (server, backend):
        some, archive = await handles(backend, 1, 2, 3), await box(backend, "Archive")
        known = await backend.identify(some)
        lost = [Fate(one, Ending.UNCERTAIN, identity=known[one]) for one in some]
        server.there = {1}

        async def found(talk: Talk, tag: bytes, command: bytes) -> None:
            server.there = {2}  # the only one the destination has
            await talk.say(b"* SEARCH 2\r\n" + OK, tag)

        server.replies[b"UID SEARCH"] = found
        proved = await backend.prove(lost, archive, 0.0)
    assert endings(proved) == [(Ending.FAILED, "not_done"), (Ending.DONE, None), (Ending.UNCERTAIN, None)]
    assert (proved[1].proof, proved[1].now) == (Proof.SEEN, keys.handle(archive, 1, 2))


async def test_a_refused_move_tells_what_stayed_and_what_is_not_known() -> None:
    """RFC 6851 §3.3: a NO may come after some were moved."""
    async with account(BASIC + b" UIDPLUS MOVE") as (server, backend):
        archive, some = await box(backend, "Archive"), await handles(backend, 1, 2)

        async def half(talk: Talk, tag: bytes, command: bytes) -> None:
            server.there = {2, 3}
            await talk.say(b"@TAG@ NO [OVERQUOTA] full\r\n", tag)

        server.replies[b"UID MOVE"] = half
        fates = await backend.move(some, archive)
    assert endings(fates) == [(Ending.UNCERTAIN, "outcome_unknown"), (Ending.FAILED, "server_refused")]


async def test_a_destination_that_is_gone_is_told() -> None:
    async with account(BASIC + b" UIDPLUS MOVE") as (server, backend):
        archive, some = await box(backend, "Archive"), await handles(backend, 1)
        server.replies[b"UID MOVE"] = b"@TAG@ NO [TRYCREATE] no such mailbox\r\n"
        fates = await backend.move(some, archive)
    assert endings(fates) == [(Ending.FAILED, "no_such_mailbox")]


async def test_answers_that_come_side_by_side_go_to_the_command_that_named_the_messages() -> None:
    """Dovecot answers pipelined MOVEs so."""
    async with account(BASIC + b" UIDPLUS MOVE") as (server, backend):
        moves: list[tuple[bytes, int]] = []

        async def late(talk: Talk, tag: bytes, command: bytes) -> None:
            moves.append((tag, named(command)[0]))
            if len(moves) == 2:
                for _, first in reversed(moves):
                    await talk.say(b"* OK [COPYUID 7 %d:%d %d:%d] moved\r\n" % (first, first + 999, first, first + 999))
                for one, _ in moves:
                    await talk.say(OK, one)

        server.replies[b"UID MOVE"] = late
        fates = await backend.move(await handles(backend, *range(1, 2001)), await box(backend, "Archive"))
    assert set(endings(fates)) == {(Ending.DONE, None)}
    assert [fate.now and keys.read(fate.now.key)[1] for fate in fates] == list(range(1, 2001))


async def test_names_go_out_in_modified_utf7_and_a_quote_starts_no_other_command() -> None:
    """RFC 3501 §5.1.3."""
    async with account(BASIC) as (server, backend):
        server.replies[b"CREATE"] = b"@TAG@ NO [ALREADYEXISTS] there\r\n"
        for path in ("Größe & Maß", 'a" b'):
            with pytest.raises(Exception, match="exists already"):
                await backend.create(path, Role.FOLDER)
        assert server.words(b"CREATE") == [b'CREATE "Gr&APYA3w-e &- Ma&AN8-"', b'CREATE "a\\" b"']


async def test_a_folder_with_folders_is_not_deleted_whatever_the_server_would_do() -> None:
    """P-58."""
    async with account(BASIC) as (server, backend):
        with pytest.raises(Exception, match="mailboxes in this folder"):
            await backend.remove(await box(backend, "Work"))
        assert not server.words(b"DELETE")


async def hang_up(talk: Talk, tag: bytes, command: bytes) -> None:
    await talk.hang_up()


async def test_what_a_move_named_stays_done_when_the_look_for_the_rest_fails() -> None:
    """P-61: a connection that ends after the answer makes nothing of it untrue."""
    async with account(BASIC + b" UIDPLUS MOVE") as (server, backend):
        archive, some = await box(backend, "Archive"), await handles(backend, 1, 2)

        async def one_of_two(talk: Talk, tag: bytes, command: bytes) -> None:
            server.replies[b"SELECT"] = hang_up
            await talk.say(b"@TAG@ OK [COPYUID 7 1 11] moved\r\n", tag)

        server.replies[b"UID MOVE"] = one_of_two
        fates = await backend.move(some, archive)
    assert endings(fates) == [(Ending.DONE, None), (Ending.UNCERTAIN, "outcome_unknown")]
    assert fates[0].now == keys.handle(archive, 7, 11)


async def test_flags_that_were_added_before_the_rest_failed_are_not_told_as_unchanged() -> None:
    """P-61: two commands, and the second is not sent."""
    async with account(BASIC) as (server, backend):
        some = await handles(backend, 1, 2)

        async def once(talk: Talk, tag: bytes, command: bytes) -> None:
            await talk.say(OK, tag)
            await talk.hang_up()

        server.replies[b"UID STORE"] = once
        change = FlagChange(add=frozenset({"seen"}), remove=frozenset({"deleted"}))
        fates = await backend.set_flags(some, change)
        assert [command[-14:] for command in server.words(b"UID STORE")] == [b"SILENT (\\Seen)"]
    assert endings(fates) == [(Ending.UNCERTAIN, "outcome_unknown")] * 2


@pytest.mark.parametrize(
    ("told", "flag", "kept"),
    [
        (b"* OK [PERMANENTFLAGS ()] none\r\n", "seen", False),
        (b"* OK [PERMANENTFLAGS (\\Seen)] one\r\n", "seen", True),
        (b"* OK [PERMANENTFLAGS (\\Seen)] one\r\n", "flagged", False),
        (b"* OK [PERMANENTFLAGS (\\Seen \\*)] any\r\n", "project-x", True),
        (b"", "seen", True),
    ],
)
async def test_a_flag_that_the_mailbox_would_forget_is_not_set(told: bytes, flag: str, kept: bool) -> None:
    """P-65: no PERMANENTFLAGS at all means that all are kept, an empty list that none is (RFC 9051 §7.1)."""
    async with account(BASIC + b" UIDPLUS") as (server, backend):
        server.replies[b"SELECT"] = SELECTED.replace(b"* OK [PERMANENTFLAGS (\\Seen \\Deleted)]\r\n", told)
        (fate,) = await backend.set_flags(await handles(backend, 1), FlagChange(add=frozenset({flag})))
        stored = bool(server.words(b"UID STORE"))
    assert (stored, fate.ending is Ending.DONE) == (kept, kept)
    assert fate.code == (None if kept else "flag_not_kept")
