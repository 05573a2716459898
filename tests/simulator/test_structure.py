"""ENVELOPE, BODY, BODYSTRUCTURE and sections are printed as Bridge's IMAP engine prints them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.simulator.texts.structure import SectionError, body, envelope, section
from tests.simulator import observed
from tests.simulator.test_served_literal import MESSAGES

RECORDED = observed.names("fetch-", "search-", "append-bytes-", "append-encrypted", "identity-")
MIXED = (
    b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\none\r\n--b\r\n'
    b"Content-Type: message/rfc822\r\n\r\nSubject: inner\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n"
    b"--c\r\n\r\ndeep\r\n--c\r\n\r\ndeeper\r\n--c--\r\n--b--\r\n"
)


def said(item: observed.Item) -> bytes:
    """What we say where Bridge said `item.value`."""
    literal = item.original.served()
    match item.name:
        case "ENVELOPE":
            return envelope(literal)
        case "BODY" | "BODYSTRUCTURE":
            return body(literal, extended=item.name == "BODYSTRUCTURE")
        case "RFC822.HEADER" | "RFC822.TEXT":
            return section(literal, item.name.removeprefix("RFC822."))
        case _:
            return _partial(literal, item.name)


def _partial(literal: bytes, name: str) -> bytes:
    match = re.fullmatch(r"BODY\[(.*)\](?:<(\d+)>)?", name)
    assert match is not None, name
    try:
        return section(literal, match[1])[int(match[2] or 0) :]
    except SectionError as error:
        return str(error).encode()


def shown(recording: str) -> list[observed.Item]:
    left = ("FLAGS", "UID", "INTERNALDATE", "RFC822", "RFC822.SIZE")
    return [item for item in observed.items(recording) if item.name not in left]


@pytest.mark.parametrize("recording", [name for name in RECORDED if shown(name)])
def test_every_description_of_a_recording_is_given_again(recording: str) -> None:
    for item in shown(recording):
        ours = observed.neutral(said(item))
        # A partial shows the beginning of what we cut off at its start.
        assert item.value == (ours[: len(item.value)] if item.name.endswith(">") else ours), (
            item.original.key,
            item.name,
        )


def test_the_recordings_show_every_kind_of_description() -> None:
    names = {re.sub(r"[\[<].*", "", item.name) for recording in RECORDED for item in shown(recording)}
    refusals = {item.value for recording in RECORDED for item in shown(recording) if item.refused}
    assert names == {"BODY", "BODYSTRUCTURE", "ENVELOPE", "RFC822.HEADER", "RFC822.TEXT"}
    assert refusals == set(REFUSALS[:2])


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (b"plain", b'"plain"'),
        (b'a "b" \\c', b'"a \\"b\\" \\\\c"'),
        (b"tab\there", b'"tab\\there"'),
        ("Grüße\u00a0da".encode(), '"Grüße\\u00a0da"'.encode()),
        (b"lost \xff\x7f", b'"lost \\xff\\x7f"'),
        ("zero\u200bwidth".encode(), b'"zero\\u200bwidth"'),
        ("\U000e0001".encode(), b'"\\U000e0001"'),
    ],
)
def test_strings_are_quoted_as_go_quotes_them(value: bytes, printed: bytes) -> None:
    assert envelope(b"Subject: " + value + b"\r\n\r\n").startswith(b"(NIL " + printed + b" NIL")


@pytest.mark.parametrize(
    ("people", "printed"),
    [
        (b"Bob <b@x.y>", b'(("Bob" NIL "b" "x.y"))'),
        (b'"Q, R" <q@x>, s@y', b'(("Q, R" NIL "q" "x")(NIL NIL "s" "y"))'),
        (b"=?utf-8?q?J=C3=BC?= =?utf-8?q?rgen?= <j@x>", '(("Jürgen" NIL "j" "x"))'.encode()),
        (b"bob", b'(("bob" NIL NIL NIL))'),
        (b"undisclosed-recipients:;", b"()"),
        (b"friends: a@b, c@d;", b'((NIL NIL "a" "b"))'),
        (b"friends: a@b,c@d;", b'((NIL NIL "a" "b")(NIL NIL "c" "d"))'),
        (b"", b"()"),
        (b"<>", b"((NIL NIL NIL NIL))"),
        (b"a (c (d)) <a@b>", b'(("a" NIL "a" "b"))'),
        (b"a@b; c@d", b'((NIL NIL "a" "b")(NIL NIL "c" "d"))'),
    ],
)
def test_addresses_are_read_as_gluon_reads_them(people: bytes, printed: bytes) -> None:
    assert envelope(b"To: " + people + b"\r\n\r\n") == b"(NIL NIL NIL NIL NIL " + printed + b" NIL NIL NIL NIL)"


def test_absent_people_are_nil_and_from_stands_in_for_sender_and_reply_to() -> None:
    assert (
        envelope(b"From: a@b\r\n\r\n")
        == b'(NIL NIL ((NIL NIL "a" "b")) ((NIL NIL "a" "b")) ((NIL NIL "a" "b")) NIL NIL NIL NIL NIL)'
    )


def test_no_parameters_are_an_empty_list_and_no_encoding_is_nil() -> None:
    assert body(b"Content-Type: application/x\r\n\r\nabc", extended=False) == b'("application" "x" () NIL NIL NIL 3)'


def test_a_type_that_cannot_be_read_has_none() -> None:
    assert body(b"Content-Type: text/\r\n\r\nabc", extended=True) == b"(NIL NIL () NIL NIL NIL 3 NIL NIL NIL NIL)"


def test_a_nested_message_with_parts_is_printed_as_a_multipart() -> None:
    assert body(MIXED, extended=False) == (
        b'(("text" "plain" () NIL NIL NIL 3 1)'
        b'(("text" "plain" () NIL NIL NIL 4 1)("text" "plain" () NIL NIL NIL 6 1) "rfc822") "mixed")'
    )
    assert section(MIXED, "2.2") == b"deeper"


def test_a_part_of_a_leaf_is_the_leaf() -> None:
    assert section(MIXED, "1.1") == section(MIXED, "1") == section(MIXED, "1.1.1") == b"one"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("3", "invalid part index"),
        ("4", "no such parts exists"),
        ("1.2", "no such parts exists"),
        ("2.3", "invalid part index"),
    ],
)
def test_a_part_that_is_not_there_is_refused_in_bridges_words(path: str, text: str) -> None:
    with pytest.raises(SectionError, match=f"^{text}$"):
        section(MIXED, path)


def test_header_fields_come_in_the_messages_order_whatever_was_asked() -> None:
    literal = b"A: 1\r\nB: 2\r\n  more\r\na: 3\r\nC: 4\r\n\r\nx"
    assert section(literal, "HEADER.FIELDS (C B)") == b"B: 2\r\n  more\r\nC: 4\r\n\r\n"
    assert section(literal, "HEADER.FIELDS.NOT (a c)") == b"B: 2\r\n  more\r\n\r\n"
    assert section(literal, "HEADER.FIELDS ()") == b"\r\n"


def test_a_header_gluon_refuses_is_taken_for_the_body() -> None:
    literal = b"Not a field: x\r\nSubject: y\r\n\r\nbody"
    assert section(literal, "HEADER") == b""
    assert section(literal, "TEXT") == literal


def test_a_part_left_open_goes_on_to_the_end() -> None:
    literal = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nopen\r\nend"
    assert section(literal, "1") == b"open\r\nend"


REFUSALS = (b"no such parts exists", b"invalid part index", b"unknown section")
PATHS = st.from_regex(
    r"([0-9]{1,2}(\.[0-9]{1,2}){0,3})?(\.?(MIME|HEADER|TEXT|HEADER\.FIELDS \([A-Z ]*\)))?", fullmatch=True
)


@given(MESSAGES, PATHS)
@settings(max_examples=400, deadline=None)
def test_any_bytes_have_a_structure_and_sections_within_them(literal: bytes, path: str) -> None:
    assert body(literal, extended=False).startswith(b"(")
    try:
        found = section(literal, path)
    except SectionError as error:
        found = str(error).encode()
    assert found == b"" or found in literal or found in REFUSALS or "HEADER.FIELDS" in path
