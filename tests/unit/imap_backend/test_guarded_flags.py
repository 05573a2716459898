"""Conditional STORE by the letter of RFC 7162: what each answer says of each message (A-15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import LARGEST_VERSION, FlagChange
from tests.unit.imap.scripted import OK
from tests.unit.imap_backend.test_filing import BASIC, SELECTED, account, endings, handles

if TYPE_CHECKING:
    from tests.unit.imap.scripted import Talk

SEEN = frozenset({"seen"})
GUARDED = FlagChange(add=SEEN, unchanged_since=715194045007)
DONE, LATE, UNSURE = (Ending.DONE, None), (Ending.FAILED, "changed"), (Ending.UNCERTAIN, "outcome_unknown")
UNGUARDED = (Ending.DONE, "unguarded")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"@TAG@ OK done\r\n", [DONE, DONE, DONE]),
        (b"@TAG@ OK [MODIFIED 2] some\r\n", [DONE, LATE, DONE]),
        (b"@TAG@ OK [MODIFIED 1:3] none\r\n", [LATE, LATE, LATE]),
        (b"@TAG@ OK [MODIFIED 2,4:*] others too\r\n", [DONE, LATE, DONE]),
        (b"@TAG@ OK [MODIFIED 3:4294967295] others too\r\n", [DONE, DONE, LATE]),
        (b"@TAG@ OK [MODIFIED] which?\r\n", [UNSURE, UNSURE, UNSURE]),
        (b"@TAG@ OK [MODIFIED x] which?\r\n", [UNSURE, UNSURE, UNSURE]),
        (b"@TAG@ NO [MODIFIED 2] some are gone\r\n", [UNSURE, LATE, UNSURE]),
        (b"@TAG@ NO [MODIFIED 1:3] none\r\n", [LATE, LATE, LATE]),
        (b"@TAG@ NO not today\r\n", [(Ending.FAILED, "server_refused")] * 3),
        (b"* 2 FETCH (UID 2 MODSEQ (9))\r\n* 7 FETCH (UID 7 FLAGS ())\r\n@TAG@ OK done\r\n", [DONE, DONE, DONE]),
    ],
)
async def test_an_answer_says_of_each_message_whether_it_was_changed(
    answer: bytes, expected: list[tuple[Ending, str | None]]
) -> None:
    """A-15: what is in doubt is uncertain, never told as done."""
    async with account(BASIC + b" CONDSTORE") as (server, backend):
        server.replies[b"UID STORE"] = answer
        fates = await backend.set_flags(await handles(backend, 1, 2, 3), GUARDED)
        assert server.words(b"UID STORE") == [b"UID STORE 1:3 (UNCHANGEDSINCE 715194045007) +FLAGS.SILENT (\\Seen)"]
    assert endings(fates) == expected


async def test_an_answer_that_is_lost_leaves_it_uncertain_and_is_not_repeated() -> None:
    """A-15, P-55."""

    async def hang_up(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.hang_up()

    async with account(BASIC + b" CONDSTORE") as (server, backend):
        server.replies[b"UID STORE"] = hang_up
        fates = await backend.set_flags(await handles(backend, 1, 2), GUARDED)
        assert len(server.words(b"UID STORE")) == 1
    assert endings(fates) == [UNSURE] * 2


@pytest.mark.parametrize(
    ("capabilities", "opened"),
    [(b"", SELECTED), (b" CONDSTORE", b"* OK [NOMODSEQ] no versions here\r\n" + SELECTED)],
    ids=["no CONDSTORE", "NOMODSEQ"],
)
async def test_where_there_are_no_versions_it_is_done_and_each_fate_says_that_it_was_not_guarded(
    capabilities: bytes, opened: bytes
) -> None:
    """A-15: and neither word is sent that such a mailbox does not know."""
    async with account(BASIC + capabilities) as (server, backend):
        server.replies |= {b"SELECT": opened, b"EXAMINE": opened, b"UID STORE": OK}
        some = await handles(backend, 1, 2, 8)
        fates = await backend.set_flags(some, GUARDED)
        assert [one.version for one in await backend.envelopes(some)] == [None, None]
        assert not [one for one in server.received if b"UNCHANGEDSINCE" in one or b"MODSEQ" in one]
    assert endings(fates) == [UNGUARDED, UNGUARDED, (Ending.FAILED, "stale_handle")]


@pytest.mark.parametrize("version", [0, -1, LARGEST_VERSION + 1])
def test_what_is_no_version_is_refused(version: int) -> None:
    with pytest.raises(Invalid):
        FlagChange(add=SEEN, unchanged_since=version)


def test_a_guarded_change_adds_or_removes() -> None:
    """A-15: of two commands the first would be the change that has the second refused."""
    with pytest.raises(Invalid):
        FlagChange(add=SEEN, remove=frozenset({"flagged"}), unchanged_since=1)
