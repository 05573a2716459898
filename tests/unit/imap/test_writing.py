"""What goes out: nothing a caller passes becomes another command, and no message number is ever written."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.errors import LimitExceeded, ProtocolViolation
from mcp_proton.imap.protocol import commands, utf7
from mcp_proton.imap.protocol.asks import Nowhere
from mcp_proton.imap.protocol.fetching import Fetch, FetchRange, FetchWhole, Items
from mcp_proton.imap.protocol.uids import LARGEST, UidSet
from mcp_proton.imap.protocol.writer import Argument, Atom, Literal, MailboxName, chunks, line

UIDS = st.integers(1, LARGEST)


def written(*arguments: Argument, unasked: int = 0) -> list[bytes]:
    return chunks(b"T1", line(*arguments), unasked)


def test_arguments_are_written_by_their_type() -> None:
    assert written(
        Atom("UID"), Atom("SEARCH"), [Atom("SUBJECT"), 'a "b" \\'], Atom("SINCE"), date(2026, 3, 9), Atom("LARGER"), 5
    ) == [b'T1 UID SEARCH (SUBJECT "a \\"b\\" \\\\") SINCE 9-Mar-2026 LARGER 5\r\n']


def test_text_beyond_ascii_waits_for_the_server_as_a_literal() -> None:
    assert written(Atom("X"), "é", "z") == [b"T1 X {2}\r\n", b'\xc3\xa9 "z"\r\n']


def test_a_literal_goes_unasked_only_where_the_server_offers_it() -> None:
    assert written(Atom("X"), Literal(b"a\r\nb"), unasked=4096) == [b"T1 X {4+}\r\na\r\nb\r\n"]
    assert len(written(Atom("X"), Literal(b"x" * 5000), unasked=4096)) == 2


def test_mailboxes_are_written_in_modified_utf7_or_as_the_server_spelled_them() -> None:
    assert written(MailboxName("Entwürfe & Co")) == [b'T1 "Entw&APw-rfe &- Co"\r\n']
    assert written(MailboxName(b"odd&name")) == [b'T1 "odd&name"\r\n']


@pytest.mark.parametrize("text", ["a\r\nT2 LOGOUT", "a\nb", "a\x00b", b"a\r"])
def test_line_ends_and_nul_are_refused_in_every_text(text: str | bytes) -> None:
    for argument in (text, MailboxName(text)):
        with pytest.raises(Invalid):
            line(argument)


@given(st.text())
def test_no_text_breaks_out_of_its_command(text: str) -> None:
    for argument in (text, MailboxName(text)):
        try:
            (first, *rest) = written(Atom("X"), argument)
        except Invalid:
            continue
        assert first.count(b"\r\n") == 1
        assert not rest or re.fullmatch(rb"T1 X \{\d+\}\r\n", first)
        if rest:
            assert b"\r" not in rest[0][:-2]
            assert b"\n" not in rest[0][:-2]


@pytest.mark.parametrize("word", ["", "a b", "a\r\nb", "(x", 'x"', "1:4294967296", "4294967296", "*", "{5}", "ü", "%"])
def test_a_word_that_is_no_atom_is_refused(word: str) -> None:
    with pytest.raises(Invalid):
        line(Atom(word))


@pytest.mark.parametrize("number", [-1, 2**32, 2**64])
def test_a_number_beyond_32_bits_is_refused(number: int) -> None:
    with pytest.raises(Invalid):
        line(Atom("LARGER"), number)


@pytest.mark.parametrize("uid", [0, -5, 2**32, 2**33])
def test_a_uid_beyond_32_bits_is_refused_wherever_it_may_be_given(uid: int) -> None:
    """A message number of 2^32 ends the whole Bridge process; not even a UID of that size is written."""
    for build in (
        lambda: UidSet.of([1, uid]),
        lambda: UidSet.window(uid, uid),
        lambda: UidSet.since(uid),
        lambda: FetchRange(uid, "", 0, 1),
        lambda: FetchWhole(uid, "", 0, None, Nowhere()),
    ):
        with pytest.raises(Invalid):
            build()


def test_every_command_that_names_messages_names_them_by_uid() -> None:
    some = UidSet.of([3])
    asks = [
        Fetch(some, Items(flags=True)),
        FetchRange(3, "", 0, 10),
        FetchWhole(3, "1", 0, None, Nowhere()),
        commands.Search([Atom("UID"), some]),
        commands.Store(some, ["\\Seen"], add=True),
        commands.Copy(some, "Trash"),
        commands.Move(some, "Trash"),
        commands.Expunge(some),
    ]
    for ask in asks:
        assert chunks(b"T1", ask.line, 0)[0].startswith(b"T1 UID ")


@given(st.sets(UIDS, max_size=60), st.integers(15, 90))
def test_a_set_is_compressed_split_and_read_back_without_loss(uids: set[int], room: int) -> None:
    whole = UidSet.of(uids)
    assert list(whole) == sorted(uids)
    assert len(whole) == len(uids)
    assert all(uid in whole for uid in uids)
    assert not any(uid in whole for uid in (uid + 1 for uid in uids) if uid not in uids)
    parts = whole.split(room)
    assert [uid for part in parts for uid in part] == sorted(uids)
    assert all(len(part.text()) <= max(room, 21) for part in parts)
    if uids and max(uids) < LARGEST:
        assert UidSet.parse(whole.text()) == whole


def test_neighbours_become_ranges() -> None:
    assert UidSet.of([5, 1, 2, 3, 9, 9]).text() == b"1:3,5,9"
    assert UidSet.since(7).text() == b"7:*"
    assert UidSet.window(4, 4).text() == b"4"
    assert len(UidSet.of(range(1, 50_001)).split()) == 1
    assert all(len(part.text()) <= 7_000 for part in UidSet.of(range(1, 100_000, 2)).split())


@pytest.mark.parametrize("text", [b"", b"0", b"x", b"1,,2", b"1:", b"4294967296", b"-1", b"1 2"])
def test_a_servers_set_that_is_none_is_a_violation(text: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        UidSet.parse(text)


def test_a_servers_set_of_billions_is_not_listed() -> None:
    with pytest.raises(LimitExceeded):
        UidSet.parse(b"1:4294967295").listed()


def test_an_empty_set_is_not_sent() -> None:
    with pytest.raises(Invalid):
        commands.Expunge(UidSet.of([]))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_mailbox_name_survives_modified_utf7(name: str) -> None:
    assert utf7.decode(utf7.encode(name)) == name


@given(st.binary())
def test_decoding_a_mailbox_name_never_fails(name: bytes) -> None:
    utf7.decode(name)


@pytest.mark.parametrize(
    ("name", "wire"), [("Été", b"&AMk-t&AOk-"), ("a&b", b"a&-b"), ("日本", b"&ZeVnLA-"), ("😀", b"&2D3eAA-")]
)
def test_known_names_are_encoded_as_the_rfc_says(name: str, wire: bytes) -> None:
    assert utf7.encode(name) == wire


@pytest.mark.parametrize("section", ["", "HEADER", "TEXT", "1", "1.2.MIME", "3.HEADER.FIELDS (SUBJECT X-PM-ID)"])
def test_sections_of_the_standard_are_written(section: str) -> None:
    (sent,) = chunks(b"T1", Fetch(UidSet.of([1]), Items(sections=(section,))).line, 0)
    assert sent == f"T1 UID FETCH 1 (UID BODY.PEEK[{section}])\r\n".encode()


@pytest.mark.parametrize(
    "section",
    ["0", "1.", "MIME", "TEXT]", "1]\r\nT2 LOGOUT", "HEADER.FIELDS ()", "HEADER.FIELDS (A B)) X", "9999999999"],
)
def test_a_section_cannot_carry_anything_else(section: str) -> None:
    for build in (lambda: Items(sections=(section,)), lambda: FetchRange(1, section, 0, 1)):
        with pytest.raises(Invalid):
            build()


@pytest.mark.parametrize(("start", "length"), [(0, 0), (-1, 5), (2**32, 1), (0, 2**32)])
def test_a_range_is_checked(start: int, length: int) -> None:
    with pytest.raises(Invalid):
        FetchRange(1, "", start, length)


def test_search_brings_its_charset_only_when_needed() -> None:
    assert chunks(b"T", commands.Search([Atom("SUBJECT"), "a"]).line, 0) == [b'T UID SEARCH SUBJECT "a"\r\n']
    assert (
        chunks(b"T", commands.Search([[Atom("SUBJECT"), "ü"]]).line, 0)[0]
        == b"T UID SEARCH CHARSET UTF-8 (SUBJECT {2}\r\n"
    )
    assert chunks(b"T", commands.Search([], extended=True).line, 0) == [b"T UID SEARCH RETURN (ALL) ALL\r\n"]


@pytest.mark.parametrize("password", ["pässword", 'quo"te', "back\\slash", "tab\there"])
def test_an_odd_password_is_a_literal(password: str) -> None:
    sent = chunks(b"T", commands.Login("me", password).line, 0)
    assert sent == [b'T LOGIN "me" {%d}\r\n' % len(password.encode()), password.encode() + b"\r\n"]


@pytest.mark.parametrize("password", ["a\r\nT2 NOOP", "a\x00"])
def test_a_password_with_line_ends_is_refused(password: str) -> None:
    with pytest.raises(Invalid) as refusal:
        commands.Login("me", password)
    assert password not in str(refusal.value)
