"""Header blocks, addresses, dates and ids, however broken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Address
from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.header.addresses import MOST, addresses
from mcp_proton.mime.header.dates import date
from mcp_proton.mime.header.headers import Headers, envelope, message_ids, read_headers
from mcp_proton.mime.structure.parse import parse

from .letters import letter, patient

SHAPES: dict[str, tuple[bytes, str, str]] = {
    "plain": (letter(), "s1", "hello body"),
    "no blank after the colon": (letter("Subject:nospace"), "nospace", "hello body"),
    "a blank before the colon": (letter("Subject : spaced"), "spaced", "hello body"),
    "a line that is no field": (letter("this line has no colon", "X-A: 1"), "s1", "hello body"),
    "a first line that is no field": (b"garbage first\r\n" + letter(), "s1", "hello body"),
    "an mbox separator": (b"From a@x Mon Jan  1 00:00:00 2026\r\n" + letter(), "s1", "hello body"),
    "no fields": (b"\r\nhello body\r\n", "", "hello body"),
    "no fields, no blank line": (b"hello body", "", "hello body"),
    "no blank line before the text": (b"Subject: s1\r\nhello body", "s1", "hello body"),
    "nothing": (b"", "", ""),
    "fields only": (b"Subject: s1\r\nFrom: a@x.test", "s1", ""),
    "LF": (letter().replace(b"\r\n", b"\n"), "s1", "hello body"),
    "CR": (letter().replace(b"\r\n", b"\r"), "s1", "hello body"),
    "mixed line ends": (letter().replace(b"\r\n", b"\n", 3), "s1", "hello body"),
    "NUL in the body": (letter(body=b"hello\x00 body"), "s1", "hello body"),
    "NUL in a field": (letter(b"X-N: a\x00b"), "s1", "hello body"),
    "a byte order mark": (b"\xef\xbb\xbf" + letter(), "s1", "hello body"),
    "a field of a megabyte": (letter("X-Long: " + "y" * 1_000_000), "s1", "hello body"),
    "an odd MIME-Version": (letter("MIME-Version: foo (bar"), "s1", "hello body"),
    "an odd List-Id": (letter("List-Id: =?utf-8?Q?=C3=BC?= <l.x.test>"), "s1", "hello body"),
    "an empty Message-ID": (letter("Message-ID: "), "s1", "hello body"),
    "twenty thousand trace fields": (
        letter(*["Received: from x by y; Mon, 1 Jan 2026 00:00:00 +0000"] * 20_000),
        "s1",
        "hello body",
    ),
}


@pytest.mark.parametrize(("raw", "subject", "text"), SHAPES.values(), ids=SHAPES.keys())
def test_a_header_of_any_shape_gives_subject_and_text(raw: bytes, subject: str, text: str) -> None:
    assert Headers(raw).text("Subject") == subject
    assert parse(raw).text == text


def test_lines_that_are_no_fields_are_reported() -> None:
    assert "headers_damaged" in parse(letter("this line has no colon", "X-A: 1")).notices
    assert "headers_damaged" not in parse(letter()).notices


FROM: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "encoded name in quotes": ('"=?utf-8?Q?J=C3=BCrgen?=" <j@x.test>', (("Jürgen", "j@x.test"),)),
    "comma inside an encoded name": ("=?utf-8?Q?M=C3=BCller=2C_J?= <j@x.test>", (("Müller, J", "j@x.test"),)),
    "never closed bracket": ("a b c <x@y.test", (("a b c", "x@y.test"),)),
    "nothing": ("", ()),
    "a group": ("Team: a@x.test, B <b@x.test>;", (("", "a@x.test"), ("B", "b@x.test"))),
    "an empty group": ("undisclosed-recipients:;", ()),
    "an address as a name": ('"a@b.test" <c@x.test>', (("a@b.test", "c@x.test"),)),
    "an address as a bare name": ("info@shop.test <c@x.test>", (("info@shop.test", "c@x.test"),)),
    "a quote never closed": ('"Foo <c@x.test>', (("Foo", "c@x.test"),)),
    "comments in comments": ("c@x.test (Foo (nested) Bar)", (("Foo (nested) Bar", "c@x.test"),)),
    "a comment never closed": ("c@x.test (Foo", (("", "c@x.test"),)),
    "a route": ("<@a,@b:c@x.test>", (("", "c@x.test"),)),
    "a dot before the at sign": ("<c.@x.test>", (("", "c.@x.test"),)),
    "a quoted comma": ('"Doe, Jane" <j@x.test>, k@x.test', (("Doe, Jane", "j@x.test"), ("", "k@x.test"))),
    "a name only": ("Jane Doe", (("Jane Doe", ""),)),
    "a raw international domain": ("Jü <j@bücher.test>", (("Jü", "j@bücher.test"),)),
    "a punycode domain is not decoded": ("<j@xn--bcher-kva.test>", (("", "j@xn--bcher-kva.test"),)),
    "semicolons between": ("a@x.test; b@x.test", (("", "a@x.test"), ("", "b@x.test"))),
    "a literal domain": ("<a@[192.0.2.1]>", (("", "a@[192.0.2.1]"),)),
}


@pytest.mark.parametrize(("written", "meant"), FROM.values(), ids=FROM.keys())
def test_an_address_field_gives_what_it_holds(written: str, meant: tuple[tuple[str, str], ...]) -> None:
    assert addresses(written.encode()) == tuple(Address(name, email) for name, email in meant)


def test_five_thousand_addresses_are_all_read_and_more_are_bounded() -> None:
    assert len(addresses(",\r\n ".join(f"u{n}@x.test" for n in range(5_000)))) == 5_000
    assert len(addresses("a@b," * (MOST + 500))) == MOST


@patient
@given(st.text(st.sampled_from('"\\()<>,;:@[] ab\u202e\ud800'), max_size=80) | st.binary(max_size=80))
def test_any_address_field_gives_visible_one_line_addresses(raw: str | bytes) -> None:
    for one in addresses(raw):
        for shown in (one.name, one.email):
            shown.encode()
            assert "\n" not in shown
            assert visible(shown).text == shown


@patient
@given(
    st.lists(
        st.tuples(
            st.text("abc äö", max_size=10).map(str.strip), st.from_regex(r"[a-z]{1,8}@[a-z]{1,8}\.test", fullmatch=True)
        )
    )
)
def test_addresses_that_are_written_plainly_read_back(people: list[tuple[str, str]]) -> None:
    wanted = tuple(Address(" ".join(name.split()), email) for name, email in people)
    assert addresses(", ".join(str(one) for one in wanted)) == wanted


DATES: dict[str, tuple[str, datetime | None]] = {
    "as it should be": ("Mon, 02 Jan 2023 10:00:00 +0100", datetime(2023, 1, 2, 9, tzinfo=UTC)),
    "no such day": ("Mon, 32 Foo 2026 99:99:99 +9999", None),
    "obsolete": ("1 Jan 70 0:0 EST", datetime(1970, 1, 1, 5, tzinfo=UTC)),
    "a year without end": ("Mon, 1 Jan 99999999999999999999 00:00:00 +0000", None),
    "no zone": ("2 Jan 2023 10:00:00", datetime(2023, 1, 2, 10, tzinfo=UTC)),
    "ISO 8601": ("2023-01-02T10:00:00+02:00", datetime(2023, 1, 2, 8, tzinfo=UTC)),
    "with a comment": ("Mon, 02 Jan 2023 10:00:00 +0000 (GMT)", datetime(2023, 1, 2, 10, tzinfo=UTC)),
    "an impossible offset": ("Mon, 02 Jan 2023 10:00:00 +9900", datetime(2023, 1, 2, 10, tzinfo=UTC)),
    "the year 1": ("Mon, 01 Jan 0001 00:00:00 +0000", None),
    "words": ("yesterday", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("written", "meant"), DATES.values(), ids=DATES.keys())
def test_a_date_field_is_an_aware_instant_or_nothing(written: str, meant: datetime | None) -> None:
    found = date(written.encode())
    assert found == meant
    assert found is None or found.utcoffset() is not None


@patient
@given(st.datetimes(datetime(1950, 1, 1), datetime(2400, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_a_date_reads_back_to_the_second(moment: datetime, minutes: int) -> None:
    moment = moment.replace(microsecond=0)
    sign = "-" if minutes < 0 else "+"
    written = f"{moment:%d} {moment:%b} {moment.year:04} {moment:%H:%M:%S} {sign}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"
    assert date(written) == moment.replace(tzinfo=UTC) - timedelta(minutes=minutes)


@patient
@given(st.text(max_size=60) | st.text("0123456789 :+-,JanMonT", max_size=40) | st.binary(max_size=40))
def test_no_date_field_raises(written: str | bytes) -> None:
    found = date(written)
    assert found is None or found.astimezone(UTC)


def test_message_ids_keep_their_brackets_and_their_case() -> None:
    assert message_ids(b"<a@x> garbage <B@x><c@x>") == ("<a@x>", "<B@x>", "<c@x>")
    assert message_ids("<[abc]@x.test>") == ("<[abc]@x.test>",)
    assert message_ids(b"\r\n <a b@x>") == ("<ab@x>",)
    assert message_ids(b"") == message_ids(None) == message_ids(b"no id") == ()


def test_of_many_references_the_root_and_the_latest_are_kept() -> None:
    """A-65: at most 100 ids of at most 1,024 octets."""
    found = message_ids(" ".join(f"<{n}@x>" for n in range(500)))
    assert len(found) == 100
    assert (found[0], found[1], found[-1]) == ("<0@x>", "<401@x>", "<499@x>")
    assert message_ids("<" + "a" * 1_023 + ">") == ()


def test_an_envelope_is_read_from_a_header_block() -> None:
    raw = letter(
        "Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=",
        "Date: Mon, 02 Jan 2023 10:00:00 +0000",
        "Message-ID: <m@x>",
        "In-Reply-To: <p@x>",
        "Cc: c@x.test",
        "Cc: d@x.test",
    )
    handle = Handle("personal", "aaaaaa", "1")
    found = envelope(raw, handle=handle, size=7, flags=frozenset({"seen"}))
    assert (found.subject, found.message_id, found.in_reply_to, found.size) == ("Grüße", "<m@x>", "<p@x>", 7)
    assert [one.email for one in found.cc] == ["c@x.test", "d@x.test"]
    assert found.date == datetime(2023, 1, 2, 10, tzinfo=UTC)


def test_a_header_block_reads_as_decoded_fields_in_order() -> None:
    assert read_headers(b"A: =?utf-8?Q?=C3=BC?=\r\nB: one\r\n two\r\nA: x\r\n\r\nC: body") == [
        ("A", "ü"),
        ("B", "one two"),
        ("A", "x"),
    ]


@patient
@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([b"A:", b"\r\n", b"\n", b" ", b"x", b"\t", b"\r", b": "])).map(b"".join)
)
def test_no_octets_are_lost_between_header_and_body(raw: bytes) -> None:
    headers = Headers(raw)
    assert 0 <= headers.body <= len(raw)
    assert len(raw[: headers.body].splitlines()) >= len(headers.fields)
