"""Headers read line by line mean what `mime` says they mean, however fast (N-3)."""

from __future__ import annotations

import base64
import quopri
import re
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.query import fold
from mcp_proton.imap import envelopes
from mcp_proton.imap.finding.envelope_lines import EnvelopeLines
from mcp_proton.imap.finding.headlines import Columns, HeaderLines, HeaderReader
from mcp_proton.imap.finding.pagelines import PageLines, PageReader
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.protocol.asks import Done
from mcp_proton.imap.protocol.rows import RowReader
from mcp_proton.imap.protocol.uids import UidSet
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.searching import people

T = TypeVar("T")
UNHURRIED = settings(deadline=None)  # a busy machine is no fault

BOX = Mailbox("me", "INBOX", "INBOX", Role.INBOX)
TEXT = st.text(alphabet='aB ßÜ?=_"\\\\\tйΣ世ﬁ\u200b\u00ad=', max_size=14)
OCTETS = TEXT.map(str.encode) | st.binary(max_size=8).map(lambda octets: octets.translate(None, b"\r\n\0"))


def word(text: str, encoding: str) -> bytes:
    octets = text.encode()
    if encoding == "b":
        return b"=?UTF-8?B?" + base64.b64encode(octets) + b"?="
    written = (
        quopri.encodestring(octets, quotetabs=True).replace(b"=\n", b"").replace(b"_", b"=5F").replace(b"?", b"=3F")
    )
    return b"=?utf-8?q?" + written.replace(b"=20", b"_") + b"?="


SUBJECTS = (
    OCTETS
    | st.builds(word, TEXT, st.sampled_from("bq"))
    | st.lists(st.builds(word, TEXT, st.sampled_from("bq")), min_size=2, max_size=3).map(b" ".join)
)


def quoted(octets: bytes | None) -> bytes:
    if octets is None:
        return b"NIL"
    return b'"' + octets.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def line(
    subject: bytes | None,
    name: bytes | None,
    *,
    uid: int = 7,
    before: bool = True,
    date: bytes = b"02-Jan-2026 10:20:30 +0100",
) -> bytes:
    person = b"((" + quoted(name) + b' NIL "anna" "example.org"))'
    fields = b" ".join(
        (
            b'"x"',
            quoted(subject),
            person,
            person,
            b"NIL",
            b'(("To" NIL "to" "example.org"))',
            b"NIL",
            b"NIL",
            b"NIL",
            b'"<m@x>"',
        )
    )
    ids = (b"UID %d " % uid, b"") if before else (b"", b" UID %d" % uid)
    return b'* 5 FETCH (%bINTERNALDATE "%b" ENVELOPE (%b)%b)' % (ids[0], date, fields, ids[1])


def tell(ask: EnvelopeLines[T], *lines: bytes) -> T:
    """The ask's result after these lines: usual ones taken together, every other read as a row."""
    left = b"".join(text + b"\r\n" for text in lines)
    while left:
        left = left[ask.take_lines(memoryview(left)).octets :]
        unusual, _, left = left.partition(b"\r\n")
        if unusual:
            ask.take(RowReader(Limits()).read(unusual, ()))
    return ask.result(Done(None, b""))


def read(*lines: bytes) -> Columns:
    return tell(HeaderLines(UidSet.window(1, 100), HeaderReader()), *lines)


@UNHURRIED
@given(SUBJECTS | st.none(), OCTETS | st.none(), st.booleans())
def test_a_line_is_read_as_the_row_it_is(subject: bytes | None, name: bytes | None, before: bool) -> None:
    text = line(subject, name, before=before)
    columns = read(text)
    shown = envelopes.envelope(BOX, 1, RowReader(Limits()).read(text, ()))
    assert columns.uids == [7]
    assert shown.received is not None
    assert columns.dates == [int(shown.received.timestamp())]
    assert columns.texts[0] == [fold(shown.subject).encode("utf-8", "surrogatepass")]
    assert columns.texts[1] == [fold(people(shown.sender)).encode("utf-8", "surrogatepass")]
    assert columns.texts[2] == [b"to to@example.org"]
    assert columns.message_ids == [b"<m@x>"]


@UNHURRIED
@given(SUBJECTS)
def test_a_subject_is_folded_as_mime_decodes_it(subject: bytes) -> None:
    assert read(line(subject, None)).texts[0] == [fold(decode_words(subject)).encode("utf-8", "surrogatepass")]


@UNHURRIED
@given(st.binary(max_size=12).map(lambda octets: octets.translate(None, b'\r\n\0"\\')))
def test_an_envelope_shows_subjects_as_mime_decodes_them(subject: bytes) -> None:
    row = RowReader(Limits()).read(line(subject, subject), ())
    shown = envelopes.envelope(BOX, 1, row)
    assert shown.subject == decode_words(subject)
    assert shown.sender[0].name == decode_words(subject)


@pytest.mark.parametrize(
    "date",
    [b"31-Feb-2026 10:00:00 +0000", b"02-Jan-0001 00:00:00 +0000", b"tomorrow", b"02-Jan-2026 aa:bb:cc +0000", b""],
)
def test_a_date_that_names_no_moment_counts_as_none(date: bytes) -> None:
    assert read(line(b"s", None, date=date)).dates == [0]


def test_the_zone_of_a_date_counts() -> None:
    early, late = read(line(b"s", None), line(b"s", None, date=b" 2-Jan-2026 10:20:30 -0500")).dates
    assert early == datetime(2026, 1, 2, 9, 20, 30, tzinfo=UTC).timestamp()
    assert late == datetime(2026, 1, 2, 15, 20, 30, tzinfo=UTC).timestamp()


def takes_whole(ask: EnvelopeLines[T], text: bytes) -> T:
    assert ask.take_lines(memoryview(text + b"\r\n")) == (len(text) + 2, 1)
    return ask.result(Done(None, b""))


@pytest.mark.parametrize("dated", [True, False])
@pytest.mark.parametrize("before", [True, False])
def test_the_usual_spelling_is_read_without_parsing(dated: bool, before: bool) -> None:
    text = line(b"hello", b"Anna", before=before)
    columns = takes_whole(
        HeaderLines(UidSet.window(1, 100), HeaderReader()),
        text if dated else re.sub(rb'INTERNALDATE "[^"]*" ', b"", text),
    )
    assert (columns.uids, bool(columns.dates[0])) == ([7], dated)


@pytest.mark.parametrize("start", [b"UID 7 FLAGS (\\Seen) ", b"FLAGS (\\Seen) UID 7 ", b"FLAGS (\\Seen) "])
def test_a_page_in_the_usual_spelling_is_read_without_parsing(start: bytes) -> None:
    text = (
        line(b"=?utf-8?q?Gr=C3=BC=C3=9Fe?=", b"Anna").replace(b"UID 7 ", start).replace(b" ENV", b" RFC822.SIZE 99 ENV")
    )
    if b"UID" not in start:
        text = text[:-1] + b" UID 7)"
    page = PageReader().rows(BOX, 1)
    ask = PageLines(UidSet.window(1, 100), page)
    takes_whole(ask, text)
    slow = envelopes.envelope(BOX, 1, RowReader(Limits()).read(text, ()))
    assert page.found == {7: slow}
    assert (slow.subject, slow.size, slow.flags) == ("Grüße", 99, {"seen"})


@UNHURRIED
@given(SUBJECTS, OCTETS)
def test_a_page_is_read_as_its_rows_are(subject: bytes, name: bytes) -> None:
    text = (
        line(subject, name)
        .replace(b"UID 7 ", b"UID 7 FLAGS (\\Seen $Label1) ")
        .replace(b" ENV", b" RFC822.SIZE 99 ENV")
    )
    page = PageReader().rows(BOX, 1)
    ask = PageLines(UidSet.window(1, 100), page)
    tell(ask, text)
    slow = envelopes.envelope(BOX, 1, RowReader(Limits()).read(text, ()))
    assert page.found == {7: slow}


def test_lines_in_another_order_are_read_too() -> None:
    usual = line(b"hello", b"Anna")
    odd = usual.replace(b"UID 7 ", b"FLAGS (\\Seen) UID 8 ")
    columns = read(usual, odd)
    assert columns.uids == [7, 8]
    assert columns.texts[0] == [b"hello", b"hello"]


def test_what_is_no_row_of_headers_is_left_to_others() -> None:
    ask = HeaderLines(UidSet.window(1, 100), HeaderReader())
    for text in (b"* 5 FETCH (FLAGS (\\Seen) UID 7)", b"* 9 EXISTS", b"A1 OK done"):
        assert ask.take_lines(memoryview(text + b"\r\n")) == (0, 0)
    assert not ask.take(RowReader(Limits()).read(b"* 5 FETCH (FLAGS (\\Seen) UID 7)", ()))
    assert not ask.take(RowReader(Limits()).read(line(b"s", None, uid=101), ()))


@pytest.mark.parametrize(
    "text", [b"", b" ", b"a  b", b" a", b"a ", b"a\tb", b"A\x0bB", b"x=y", b"=?", b"\x7f", b'say "Hi" \\']
)
def test_a_text_is_folded_alike_wherever_it_stands_among_others(text: bytes) -> None:
    subjects = [b"Before", text, b"", text, b"AFTER"]
    assert read(*(line(one, None) for one in subjects)).texts[0] == [
        read(line(one, None)).texts[0][0] for one in subjects
    ]
    assert read(line(text, None)).texts[0] == [fold(decode_words(text)).encode()]


@pytest.mark.parametrize(
    "sent", [b"<a@b>", b"text", b"<a@b> <c@d>", b" <a@b>", b"<>", b"<a\\\\b@c>", b"<" + b"a" * 1001 + b">", b""]
)
def test_an_id_is_read_as_mime_reads_it(sent: bytes) -> None:
    text = line(b"s", None).replace(b'"<m@x>"', b'"' + sent + b'"')
    expected = envelopes.envelope(BOX, 1, RowReader(Limits()).read(text, ())).message_id
    assert read(text).message_ids == [expected.encode()]


def test_what_comes_after_its_caller_went_away_is_taken_and_dropped() -> None:
    ask = HeaderLines(UidSet.window(1, 100), HeaderReader())
    ask.abandon()
    assert not takes_whole(ask, line(b"hello", b"Anna")).uids
