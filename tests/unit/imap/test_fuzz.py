"""Any bytes at all: no hang, no crash, no unbounded memory; a result, or one of our errors."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.errors import MailError
from mcp_proton.imap.errors import ProtocolViolation
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.protocol.commands import Search, StatusOf
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.responses import ResponseReader
from mcp_proton.imap.protocol.wire import Framer
from mcp_proton.imap.protocol.writer import Atom
from tests.unit.imap.scripted import OK, QUICK, Talk, pool_for, serving
from tests.unit.imap.test_wire import Heard, feed

SMALL = Limits(line=20_000, literal=20_000, response=40_000, literals=50, nodes=2_000, nesting=20, held=100_000)

STRUCTURED = (
    b'* 1 FETCH (RFC822.SIZE 1248 ENVELOPE ("Mon, 02 Jan 2023 10:00:00 +0000" "Fwd" (("Bob Example" NIL "bob" '
    b'"example.com")) (("Bob Example" NIL "bob" "example.com")) (("Bob Example" NIL "bob" "example.com")) '
    b'(("Alice" NIL "alice" "proton.local")) NIL NIL NIL "<m2@example.com>") BODYSTRUCTURE (("text" "plain" '
    b'("charset" "utf-8") NIL NIL "quoted-printable" 16 1 NIL NIL NIL NIL)("message" "rfc822" ("filename" '
    b'"inner.eml") NIL NIL NIL 222 ("Sun, 01 Jan 2023 09:00:00 +0000" "Inner" NIL NIL NIL NIL NIL NIL NIL NIL)'
    b'("text" "plain" ("charset" "utf-8") NIL NIL NIL 10 1 NIL NIL NIL NIL) 9 NIL ("attachment" ("filename" '
    b'"inner.eml")) NIL NIL) "mixed" ("boundary" "b1") NIL NIL NIL) UID 1)\r\n'
)
BODIES = b"* 1 FETCH (BODY[TEXT]<0> {10}\r\nHi Alice,\r UID 1)\r\n* 1 FETCH (UID 1 FLAGS (\\Seen $Forwarded))\r\n"
STATES = (
    b"* FLAGS ($Forwarded \\Deleted)\r\n* 1 EXISTS\r\n* 0 RECENT\r\n* OK [PERMANENTFLAGS (\\Seen)]\r\n* OK [UIDNEXT 2]\r\n"
    b'* LIST (\\Noinferiors) "/" "All Mail"\r\n* STATUS "INBOX" (MESSAGES 640 UIDNEXT 705)\r\n* SEARCH 1 2 3\r\n'
    b'* OK [COPYUID 12 1:2 7:8] done\r\n* ESEARCH (TAG "a") UID ALL 1:9\r\n* ID ("name" "gluon" "os" NIL)\r\n'
)
FAREWELLS = (
    b"* 2 EXPUNGE\r\n* BYE IMAP session state is inconsistent, please re-login.\r\n"
    b" BAD [Error offset=38]: expected CR\r\n+ \r\n"
)
RECORDED = [STRUCTURED, BODIES, STATES, FAREWELLS]
FRAGMENTS = [
    *(b"(", b")", b'"', b"\\", b"\x00", b"[", b"]", b" ", b"\xff", b"\r\n", b"\n", b"NIL", b"UID 1"),
    *(b"{5}\r\n", b"{0}\r\n", b"~{3}\r\n", b"{99999999999}\r\n", b"BODY[", b"ENVELOPE", b"BODYSTRUCTURE (((("),
    *(b"* 1 FETCH (", b"* OK [", b"+ "),
]
HOSTILE = {
    "open lists": b"(" * 200_000,
    "open quotes": b'"\\' * 100_000,
    "empty lists": b"() " * 200_000,
    "a quote at the end": b"a" * 500_000 + b'"',
    "open sections": b"BODY[" * 100_000,
    "open sections apart": b"BODY[ " * 60_000,
    "many lists": b"X (a)" * 100_000,
    "an open code": b"[X " + b"(a)" * 100_000,
}
BEGINNINGS = [b"* 1 FETCH (", b"* 1 FETCH (ENVELOPE ", b"* 1 FETCH (BODYSTRUCTURE (", b"* LIST (", b"* OK [", b"* OK "]


def mutated(source: bytes, seed: int, changes: int) -> bytes:
    """A recording with bytes flipped, cut, doubled and spliced."""
    chance = random.Random(seed)
    data = bytearray(source)
    for _ in range(changes):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0:
                data[at : at + 1] = bytes((chance.randrange(256),))
            case 1:
                del data[at : at + chance.randrange(1, 30)]
            case 2:
                data[at:at] = data[at : at + chance.randrange(1, 60)]
            case _:
                data[at:at] = chance.choice(FRAGMENTS)
    return bytes(data)


def survive(data: bytes) -> None:
    """Framed and read without a socket: values, or a violation that ends it."""
    heard = Heard()
    try:
        feed(Framer(SMALL, heard), data)
    except ProtocolViolation:
        pass
    reader = ResponseReader(SMALL)
    for text, literals in heard.responses:
        try:
            reader.read(text, literals)
        except ProtocolViolation:  # each response for itself
            continue


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(data: bytes) -> None:
    survive(data)
    survive(b"* 1 FETCH (UID 1 " + data + b")\r\n")


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=60))
def test_any_pieces_of_the_grammar_are_survived(pieces: list[bytes]) -> None:
    survive(b"* 1 FETCH (" + b"".join(pieces) + b"\r\n")
    survive(b"".join(pieces))


@settings(max_examples=400)
@given(st.sampled_from(RECORDED), st.integers(0, 2**32), st.integers(1, 12))
def test_mutated_recordings_are_survived(source: bytes, seed: int, changes: int) -> None:
    survive(mutated(source, seed, changes))


@pytest.mark.parametrize("seed", range(40))
async def test_whatever_a_server_answers_a_caller_gets_a_result_or_our_error(seed: int) -> None:
    chance = random.Random(seed)

    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        source = chance.choice(RECORDED)
        await talk.say(mutated(source, chance.randrange(2**32), chance.randrange(1, 10)) + OK, tag)
        if chance.random() < 0.2:
            await talk.hang_up()

    timing = type(QUICK)(silence=0.3, settle=0.1, goodbye=0.1)
    everything = Items(flags=True, envelope=True, structure=True, sections=("TEXT",))
    async with (
        serving({b"UID": answer, b"STATUS": answer}) as server,
        pool_for(server, limits=SMALL, timing=timing) as pool,
    ):
        async with asyncio.timeout(10):
            for _ in range(4):
                try:
                    async with pool.reading("INBOX") as box:
                        await box.fetch_all([1, 2], everything)
                        async for _row in box.fetch([1], everything):
                            pass
                        await box.pipeline([box.searching(Atom("ALL")), Search([Atom("UNSEEN")])])
                        await box.run(StatusOf("INBOX", ["MESSAGES"]))
                        async for _piece in box.stream(1, "TEXT", step=5):
                            pass
                except MailError:  # each attempt for itself
                    continue


@pytest.mark.parametrize("name", HOSTILE)
def test_no_line_keeps_the_reader_until_the_test_runs_out_of_time(name: str) -> None:
    reader = ResponseReader(Limits())
    for beginning in BEGINNINGS:
        try:
            reader.read(beginning + HOSTILE[name], ())
        except ProtocolViolation:  # each response for itself
            continue
