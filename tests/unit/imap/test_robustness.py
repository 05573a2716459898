"""What a server may do to a FETCH: each answer is read rightly, or ends quickly in one of our errors; never a hang.

Every case is asked through the public way (pool, mailbox, rows), and an answer that was survived leaves the connection
in step: a NOOP after it gets its own answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from mcp_proton.imap.errors import ConnectionLost, ProtocolViolation, Rejected, RejectedForNow, TimedOut
from mcp_proton.imap.protocol.commands import Noop
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.rows import FetchRow
from tests.unit.imap.scripted import OK, QUICK, Talk, pool_for, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.domain.errors import MailError

EVERYTHING = Items(envelope=True, structure=True, sections=("",))
PEOPLE = b'(("Ann" NIL "ann" "x.test")) ' * 3 + b'((NIL NIL "bob" "y.test")) NIL NIL NIL "<m1@x>"'


def envelope(subject: bytes) -> bytes:
    return b'("Tue, 8 Feb 1994 06:52:25 +0100" ' + subject + b" " + PEOPLE + b")"


def row(inside: bytes) -> bytes:
    return b"* 1 FETCH (UID 1 " + inside + b")\r\n"


def told(subject: bytes) -> bytes:
    return row(b"ENVELOPE " + envelope(subject))


@dataclass(frozen=True)
class Case:
    """`found` must be among the values of the row asked for by `items`; or `fault` must be raised."""

    name: str
    answer: bytes
    found: bytes | None = None
    fault: type[MailError] | None = None
    closes: bool = False
    slowly: bool = False
    silent: bool = False
    items: Items = EVERYTHING


CASES = [
    Case("open parentheses in a quoted subject", told(b'"Sad :( (((("') + OK, b"Sad :( (((("),
    Case("a star and a blank in a quoted subject", told(b'"2 * 8 is 16"') + OK, b"2 * 8 is 16"),
    Case("escaped quotes and backslashes", told(b'"say \\"hi\\" \\\\ there"') + OK, b'say "hi" \\ there'),
    Case("a subject as a literal", told(b"{5}\r\nhowdy") + OK, b"howdy"),
    Case(
        "a literal that looks like answers",
        told(b"{27}\r\ny\r\n* 9 EXISTS\r\nA1 OK haha\r\n") + OK,
        b"y\r\n* 9 EXISTS\r\nA1 OK haha\r\n",
    ),
    Case("an empty literal", told(b"{0}\r\n") + OK, b""),
    Case("eight-bit bytes in a quoted subject", told(b'"na\xc3\xafve \xfe"') + OK, b"na\xc3\xafve \xfe"),
    Case("the word NIL in quotes", told(b'"NIL"') + OK, b"NIL"),
    Case("lower-case words", told(b'"small"').replace(b"FETCH", b"fetch").replace(b"NIL", b"nil") + OK, b"small"),
    Case("a blank before the list ends", row(b"ENVELOPE " + envelope(b'"blank"') + b" ") + OK, b"blank"),
    Case("two blanks between words", told(b'"wide"').replace(b"UID 1", b"UID  1") + OK, b"wide"),
    Case(
        "news in between",
        b"* 4 EXISTS\r\n* 3 FETCH (FLAGS (\\Seen))\r\n" + told(b'"amid"') + b"* 3 EXPUNGE\r\n* 1 RECENT\r\n" + OK,
        b"amid",
    ),
    Case("an alert in between", b"* OK [ALERT] Closing soon (at six\r\n" + told(b'"alert"') + OK, b"alert"),
    Case("news of flags without a UID", b"* 5 FETCH (FLAGS () MODSEQ (77))\r\n" + told(b'"flags"') + OK, b"flags"),
    Case("one message in two answers", row(b"FLAGS (\\Seen)") + told(b'"halves"') + OK, b"halves"),
    Case(
        "a list of header fields",
        row(b'BODY[HEADER.FIELDS ("SUBJECT" FROM)] {16}\r\nSubject: hf2\r\n\r\n') + OK,
        b"Subject: hf2\r\n\r\n",
        items=Items(sections=("HEADER.FIELDS (SUBJECT FROM)",)),
    ),
    Case("a range of a body", row(b"ENVELOPE NIL BODY[]<0> {5}\r\nhello BODY[] {2}\r\nhi") + OK, b"hello"),
    Case(
        "two literals in one answer",
        row(b'BODY[HEADER] {4}\r\nabc) BODY[TEXT] {3}\r\n"y( FLAGS (\\Seen)') + OK,
        b'"y(',
        items=Items(sections=("HEADER", "TEXT")),
    ),
    Case("a literal with NUL", row(b"BODY[1] ~{5}\r\nno\x00ul") + OK, b"no\x00ul", items=Items(sections=("1",))),
    Case(
        "a group of addresses",
        row(
            b'ENVELOPE ("x" "grouped" NIL NIL NIL ((NIL NIL "Crew" NIL)(NIL NIL "a" "x.test")(NIL NIL NIL NIL))'
            b" NIL NIL NIL NIL)"
        )
        + OK,
        b"Crew",
    ),
    Case(
        "a date that is none",
        row(b'INTERNALDATE "98-Bar-2031 27:66:00 +7777" ENVELOPE ' + envelope(b'"date"')) + OK,
        b"date",
    ),
    Case("an envelope of eight fields", row(b'ENVELOPE ("x" "brief" NIL NIL NIL NIL NIL NIL)') + OK, b"brief"),
    Case("odd flags", row(b"FLAGS (\\Seen $Forwarded Junk x]y \\Odd) ENVELOPE " + envelope(b'"odd"')) + OK, b"odd"),
    Case("a flag with a bracket", row(b"FLAGS (\\Seen k[v) ENVELOPE " + envelope(b'"bracket"')) + OK, b"bracket"),
    Case("a brace before the closing quote", told(b'"y {34}"') + OK, b"y {34}"),
    Case(
        "a multipart of no parts",
        row(b'BODYSTRUCTURE ("mixed" ("boundary" "b") NIL NIL NIL) ENVELOPE ' + envelope(b'"none"')) + OK,
        b"none",
    ),
    Case(
        "a message in a message",
        row(
            b'BODYSTRUCTURE (("text" "plain" NIL NIL NIL "7bit" 5 1)("message" "rfc822" NIL NIL NIL "7bit" 300 '
            + envelope(b'"inner"')
            + b' ("text" "plain" NIL NIL NIL "7bit" 3 1) 12) "mixed" ("boundary" "(y") NIL NIL NIL) ENVELOPE '
            + envelope(b'"outer"')
        )
        + OK,
        b"inner",
    ),
    Case("parentheses in the tagged text", told(b'"tag"') + b"@TAG@ OK [HIGHESTMODSEQ 8] Fetch (done\r\n", b"tag"),
    Case("bare line feeds", (told(b'"feed"') + OK).replace(b"\r\n", b"\n"), b"feed"),
    Case("a line of 1.4 MB", told(b'"' + b"z" * 1_400_000 + b'"') + OK, b"z" * 1_400_000),
    Case("one byte a packet", told(b'"drip"') + OK, b"drip", slowly=True),
    Case(
        "twenty thousand pieces of news",
        b"".join(b"* %d FETCH (FLAGS (\\Seen))\r\n" % seq for seq in range(2, 20_002)) + told(b'"flood"') + OK,
        b"flood",
    ),
    Case("a line end inside quotes", told(b'"a\r\nb"') + OK, fault=ProtocolViolation),
    Case("a stray go-ahead", b"+ idling\r\n" + told(b'"plus"') + OK, b"plus"),
    Case("a blank line", b"\r\n" + told(b'"empty"') + OK, b"empty"),
    Case("untagged garbage", b"* \r\n* HUH is (that\r\n" + told(b'"garbage"') + OK, b"garbage"),
    Case("a tagged NO", b"@TAG@ NO [UNAVAILABLE] later\r\n", fault=RejectedForNow),
    Case("a tagged BAD", b"@TAG@ BAD pardon\r\n", fault=Rejected),
    Case("goodbye", b"* BYE closing\r\n", fault=ConnectionLost, closes=True),
    Case("the end inside a literal", b"* 1 FETCH (UID 1 BODY[] {5000}\r\nabc", fault=ConnectionLost, closes=True),
    Case("the end inside a line", b"* 1 FETCH (UID 1 BO", fault=ConnectionLost, closes=True),
    Case("somebody else's tag", b"ZZ9 OK not yours\r\n" + told(b'"foreign"') + OK, b"foreign"),
    Case("silence", b"", fault=TimedOut, silent=True),
]


def values(thing: object) -> Iterator[bytes]:
    """Every run of bytes in a row, however deep."""
    if isinstance(thing, bytes):
        yield thing
    elif isinstance(thing, dict):
        yield from values(list(thing.values()))
    elif isinstance(thing, tuple | list):
        for one in thing:
            yield from values(one)


def test_there_are_forty_three_cases() -> None:
    assert len(CASES) == 43
    assert len({case.name for case in CASES}) == 43


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_every_answer_is_read_rightly_or_refused_quickly(case: Case) -> None:
    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        if case.silent:
            return
        if case.slowly:
            for byte in case.answer.replace(b"@TAG@", tag):
                await talk.say(bytes((byte,)))
                await asyncio.sleep(0)
            return
        await talk.say(case.answer, tag)
        if case.closes:
            await talk.hang_up()

    timing = replace(QUICK, silence=0.2) if case.silent else QUICK
    async with (
        asyncio.timeout(5),
        serving({b"UID FETCH": answer}) as server,
        pool_for(server, timing=timing) as pool,
        pool.reading("INBOX") as box,
    ):
        if case.fault is not None:
            with pytest.raises(case.fault):
                await box.fetch_all([1], case.items)
            return
        (found,) = await box.fetch_all([1], case.items)
        assert isinstance(found, FetchRow)
        assert case.found in set(values(found))
        await box.run(Noop())
