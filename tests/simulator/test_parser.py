"""The server's parser: whatever bytes come, a command, one of its own faults, or "more, please"."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_proton.simulator.imap import names
from mcp_proton.simulator.imap.commands import Command
from mcp_proton.simulator.imap.parser import InvalidName, Parser
from mcp_proton.simulator.imap.scanner import Dropped, NeedMore, SyntaxFault

WORDS = [
    b"a1 ", b"FETCH ", b"UID ", b"SEARCH ", b"STORE ", b"APPEND ", b"LIST ", b"STATUS ", b"LOGIN ", b"1:*", b"(", b")",
    b"[", b"]", b'"', b"\\", b"{3}\r\n", b"{99}\r\n", b"FLAGS", b"+FLAGS ", b"\\Seen", b"BODY.PEEK[HEADER.FIELDS (",
    b"OR ", b"NOT ", b"SINCE ", b"1-Jan-2023", b"CHARSET ", b"\r\n", b"\n", b" ", b"*", b"%", b"&", b"\x00", b"\xff",
    b"<0.1>", b"4294967296", b"UTF-8", b"TEXT ",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS) | st.binary(max_size=6), max_size=14).map(b"".join))
@example(b"a1 SEARCH " + b"(" * 5000 + b"\r\n")
@example(b"a1 FETCH 1:" + b"9" * 20_000 + b" FLAGS\r\n")
def test_any_bytes_end_in_a_command_or_one_of_the_parsers_own_ways_out(data: bytes) -> None:
    parser = Parser(data + b"\r\n")
    try:
        command = parser.parse()
    except (SyntaxFault, InvalidName, NeedMore, Dropped):
        return
    assert isinstance(command, Command)
    assert parser.scanner.position <= len(data) + 2


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"a3 FETCH 1 (FLAGS) (X)\r\n", (19 - 1, "expected CR", False)),
        (b"a3 FETCH\r\n", (8, "expected space after command", True)),
        (b"a10 STATUS INBOX ()\r\n", (19, "unknown status attribute '{ 19}'", True)),
        (b"a8 UID SORT (DATE)\r\n", (7, "unknown uid command 'sort'", True)),
        (b"x1 LOGIN {18+}\r\n", (12, "expected '}' for literal end", True)),
        (b"a1 SEARCH SINCE 10-01-2023\r\n", (19, "unexpected character for date month", True)),
        (b"a5 STORE 1 FLAGS (\\Recent)\r\n", (25, "Recent Flag is not allowed in this context", True)),
    ],
)
def test_faults_carry_the_offset_and_lose_the_tag_only_at_the_end_of_a_command(
    line: bytes, answer: tuple[int, str, bool]
) -> None:
    with pytest.raises(SyntaxFault) as caught:
        Parser(line).parse()
    assert (caught.value.offset, caught.value.text, caught.value.tagged) == answer


def test_a_literal_is_asked_for_once_and_in_full_before_the_command_is_read() -> None:
    prompts: dict[int, bytes] = {}
    with pytest.raises(NeedMore) as caught:
        Parser(b"a1 LOGIN {5}\r\nal", prompts.setdefault).parse()
    assert caught.value.size == len(b"a1 LOGIN {5}\r\nalice")
    assert list(prompts.values()) == [b"+ Ready\r\n"]
    command = Parser(b'a1 LOGIN {5}\r\nalice "pass"\r\n', prompts.setdefault).parse()
    assert command.words == ("alice", "pass")
    assert len(prompts) == 1


@pytest.mark.parametrize("size", [0, 31_457_280, 99_999_999_999])
def test_empty_and_oversized_literals_drop_the_connection_before_any_go_ahead(size: int) -> None:
    prompts: list[bytes] = []
    with pytest.raises(Dropped):
        Parser(b"a APPEND INBOX {%d}\r\n" % size, lambda _at, line: prompts.append(line)).parse()
    assert not prompts


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=30))
def test_mailbox_names_come_back_from_the_wire_as_they_were(name: str) -> None:
    wire = names.encode(name)
    assert wire.isascii()
    assert names.decode(wire.encode()) == name


@pytest.mark.parametrize("raw", [b"&", b"&AGE-", b"a & b", "é".encode(), b"&AAA", b"&A-", b"&2D0-"])
def test_what_is_no_modified_utf7_is_refused(raw: bytes) -> None:
    with pytest.raises(names.InvalidNameError):
        names.decode(raw)
