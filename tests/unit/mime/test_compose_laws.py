"""What holds of every letter: what was asked is what is read, by us and by an independent reader (P-60, A-20, A-40, J-137)."""

from __future__ import annotations

import email
import re
from email.header import decode_header, make_header

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Address
from mcp_proton.domain.outgoing import Letter
from mcp_proton.mime.composing.addressing import addressed
from mcp_proton.mime.composing.compose import compose, composed_size
from mcp_proton.mime.decoding.characters import line, visible
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.mime.header.headers import Headers, message_ids
from mcp_proton.mime.structure import parse

from .letters import patient
from .outgoing import LETTER, enclosure, letter, names_and_addresses, read, wire

several = settings(patient, max_examples=60)
CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029")
WRITTEN = (
    st.text(CHARACTERS, max_size=120) | st.text("ab=?_ \"\\,;:<>()@.'", max_size=120) | st.text("a ü漢🎉", max_size=300)
)
ANYTHING = st.text(st.characters(), max_size=60)
ADDRESS = st.sampled_from(["a@b.c", "Bob.X+y@Example.org", "用户@例え.jp", "x_y=z@bücher.example", "o'brien@x.test"])
PERSON = st.builds(Address, WRITTEN, ADDRESS)
PEOPLE = st.lists(PERSON, max_size=4).map(tuple)
BODY = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=400) | st.text(
    "From .\r\n >-=ü\t", max_size=400
)
ID = st.from_regex(r"<[a-zA-Z0-9.$=+-]{1,60}@[a-z.]{1,40}>", fullmatch=True)
KINDS = ("application/pdf", "text/plain; charset=utf-8", "image/png", "message/rfc822")
NAME = st.text(CHARACTERS, min_size=1, max_size=60).filter(lambda name: not set("/\\") & set(name))


@st.composite
def letters(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> tuple[Letter, list[bytes]]:
    files = draw(st.lists(st.tuples(st.binary(max_size=300), NAME, st.sampled_from(kinds)), max_size=3))
    asked = letter(
        sender=draw(PERSON),
        to=draw(PEOPLE),
        cc=draw(PEOPLE),
        bcc=draw(PEOPLE),
        reply_to=draw(PEOPLE),
        subject=draw(WRITTEN),
        text=draw(BODY),
        html=draw(st.none() | BODY),
        message_id=draw(ID),
        in_reply_to=draw(st.none() | ID),
        references=draw(st.lists(ID, max_size=30).map(tuple)),
        enclosures=tuple(
            enclosure(whole(octets, kind), name, kind, content_id=f"{place}@x" if draw(st.booleans()) else None)
            for place, (octets, name, kind) in enumerate(files)
        ),
        calendar=draw(st.none() | BODY.map("METHOD:REPLY\n{}".format)),
    )
    return asked, [whole(octets, kind) for octets, _, kind in files]


def whole(octets: bytes, kind: str) -> bytes:
    """A message has a header."""
    return b"Subject: x\r\n\r\n" + octets if kind == "message/rfc822" else octets


def fields(raw: bytes) -> list[str]:
    return [name for name, _ in Headers(raw).fields]


@several
@given(letters(), st.booleans(), st.integers(1, 400))
def test_what_was_composed_is_well_formed_whole_and_the_same_again(
    made: tuple[Letter, list[bytes]], bcc: bool, chunk: int
) -> None:
    asked, contents = made
    raw = wire(asked, *contents, bcc=bcc, chunk=chunk)
    assert raw == wire(asked, *contents, bcc=bcc, chunk=10_000)
    assert len(raw) == composed_size(asked, bcc=bcc)
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)|\0", raw)
    assert all(len(one) <= 998 for one in raw.split(b"\r\n"))
    assert raw.endswith(b"\r\n")
    assert not read(raw).defects


@several
@given(letters(), st.booleans())
def test_there_are_exactly_the_fields_that_were_asked_for(made: tuple[Letter, list[bytes]], bcc: bool) -> None:
    asked, contents = made
    expected = ["From"]
    expected += [
        name
        for name, people in (
            ("To", asked.to),
            ("Cc", asked.cc),
            ("Bcc", bcc and asked.bcc),
            ("Reply-To", asked.reply_to),
        )
        if people
    ]
    expected += ["Subject", "Date", "Message-ID"]
    expected += ["In-Reply-To"] * (asked.in_reply_to is not None) + ["References"] * bool(asked.references)
    expected += ["MIME-Version", "Content-Type", "Content-Transfer-Encoding"]
    raw = wire(asked, *contents, bcc=bcc)
    assert fields(raw) == expected
    assert list(email.message_from_bytes(raw).keys()) == expected


@several
@given(letters())
def test_every_field_is_read_as_it_was_asked(made: tuple[Letter, list[bytes]]) -> None:
    asked, contents = made
    raw = wire(asked, *contents, bcc=True)
    headers, sent, independent = Headers(raw), addressed(asked), email.message_from_bytes(raw)
    subject = str(independent["Subject"]).replace("\r\n", "")
    assert str(make_header(decode_header(subject))) == asked.subject
    assert headers.text("Subject") == line(asked.subject)
    for name, people in (
        ("From", (sent.sender,)),
        ("To", sent.to),
        ("Cc", sent.cc),
        ("Bcc", sent.bcc),
        ("Reply-To", sent.reply_to),
    ):
        assert [one.email for one in addresses(headers.get(name))] == [one.email for one in people]
        assert [one.name for one in addresses(headers.get(name))] == [line(one.name) for one in people]
        if all(one.email.isascii() for one in people):
            assert names_and_addresses(raw, name) == [(one.name, one.email) for one in people]
    assert message_ids(headers.get("Message-ID")) == (asked.message_id,)
    assert message_ids(headers.get("References")) == tuple(dict.fromkeys(asked.references))
    assert str(independent["References"] or "").split() == list(asked.references)


@several
@given(letters())
def test_every_content_is_read_as_it_was_asked(made: tuple[Letter, list[bytes]]) -> None:
    asked, contents = made
    raw = wire(asked, *contents)
    root = parse.structure(raw)
    leaves = [part for part in root.walk() if part.media_type == "text/html"]
    assert len(leaves) == (asked.html is not None)
    assert [part.filename for part in root.walk() if part.filename] == [
        one.filename for one in sorted(asked.enclosures, key=lambda one: one.content_id is None or asked.html is None)
    ]
    message = email.message_from_bytes(raw)
    found = [part.get_payload(decode=True) for part in message.walk() if part.get_content_disposition()]
    assert {octets for octets in found if octets is not None} <= set(contents)
    said = next(part for part in message.walk() if part.get_content_type() == "text/plain").get_payload(decode=True)
    assert isinstance(said, bytes)
    if asked.text:
        unified = asked.text.replace("\r\n", "\n").replace("\r", "\n")
        assert said.decode().replace("\r\n", "\n").removesuffix("\n") == unified.removesuffix("\n")
        assert visible(said.decode()).text == visible(unified if unified.endswith("\n") else f"{unified}\n").text


@several
@given(
    st.sampled_from(
        ["subject", "name", "email", "message_id", "in_reply_to", "references", "filename", "type", "cid", "text"]
    ),
    ANYTHING,
)
def test_whatever_stands_in_a_field_it_is_refused_or_stays_in_its_field(where: str, value: str) -> None:
    """Header injection is impossible: of any value, the fields are those of an innocent letter, or there is no letter."""
    file = enclosure(b"x", "x", "text/plain", content_id="x@y")
    changed = {
        "subject": {"subject": value},
        "name": {"sender": Address(value, "a@b.c")},
        "email": {"to": (Address("", value),)},
        "message_id": {"message_id": value},
        "in_reply_to": {"in_reply_to": value or None},
        "references": {"references": (value,)},
        "filename": {"enclosures": (enclosure(b"x", value, "text/plain"),)},
        "type": {"enclosures": (enclosure(b"x", "x", value),)},
        "cid": {"html": "x", "enclosures": (enclosure(b"x", "x", content_id=value),)},
        "text": {"text": value, "calendar": f"METHOD:REPLY\n{value}"},
    }[where]
    asked = letter(html="<p>x</p>", enclosures=(file,), in_reply_to="<a@b>", references=("<a@b>",))
    try:
        pieces = compose(letter(**({"html": asked.html, "enclosures": asked.enclosures} | changed)))
    except Invalid as refused:
        assert len(value) < 4 or value not in refused.message
        return
    head = pieces[0]
    assert isinstance(head, bytes)
    innocent = {*fields(wire(LETTER)), "In-Reply-To", "References"}
    assert set(fields(head)) <= innocent
    assert len(fields(head)) == len(set(fields(head)))
