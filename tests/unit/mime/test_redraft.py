"""A stored draft is the letter it was (P-59, P-60): scenario 6 of what others lose, HTML, files, Bcc, thread."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.mail import Address
from mcp_proton.domain.outgoing import Enclosure, Letter, Passage
from mcp_proton.mime.composing.addressing import addressed
from mcp_proton.mime.composing.compose import compose
from mcp_proton.mime.composing.enclosing import Survey
from mcp_proton.mime.composing.redraft import Redraft, redraft
from mcp_proton.mime.decoding import encoding
from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.structure.outline import outline

from .letters import file, part, several
from .letters import letter as stored
from .outgoing import enclosure, letter, wire
from .test_compose_laws import letters
from .test_compose_laws import several as several_letters

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def again(raw: bytes) -> Redraft:
    found = outline(raw)
    return redraft(found.headers, found.root, found.octets)


def whole(raw: bytes) -> Letter:
    """Redraft with its enclosures, as a service does: each part's octets decoded and surveyed."""
    found = outline(raw)
    made = again(raw)
    enclosures = []
    for one in made.loose:
        survey = Survey()
        survey.feed(encoding.decode(found.octets(one.part), one.part.encoding).octets)
        enclosures.append(one.enclosed(survey))
    return replace(made.letter, enclosures=tuple(enclosures))


def test_nothing_of_a_draft_is_lost() -> None:
    inner = b"From: x@y.z\r\nSubject: inner\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n"
    contents = (PNG, b"a,b\r\n", inner)
    asked = letter(
        cc=(Address("Jörg, Dr.", "j@x.test"),),
        bcc=(Address("", "secret@x.test"),),
        reply_to=(Address("", "answers@x.test"),),
        subject="Größe 🎉",
        text="Plain\n",
        html='<p>Rich <img src="cid:1@x"></p>\n',
        in_reply_to="<2@x>",
        references=("<1@x>", "<2@x>"),
        enclosures=(
            enclosure(PNG, "logo.png", "image/png", content_id="1@x"),
            enclosure(b"a,b\r\n", "tä.csv", "text/csv; charset=utf-8"),
            enclosure(inner, "inner.eml", "message/rfc822"),
        ),
        calendar="BEGIN:VCALENDAR\nMETHOD:REPLY\nEND:VCALENDAR\n",
    )
    assert whole(wire(asked, *contents, bcc=True)) == asked


def test_a_text_that_was_made_from_the_html_is_not_kept_as_if_it_was_written() -> None:
    asked = letter(text="", html="<p>One</p>\n")
    assert again(wire(asked)).letter == asked


def test_what_bridge_adds_to_a_draft_does_not_come_along() -> None:
    """Sent in References or In-Reply-To, `<…@protonmail.internalid>` of a draft deletes that draft (send-stored-draft)."""
    own = "<abc==@protonmail.internalid>"
    raw = stored(
        "X-Pm-Gluon-Id: 1-2", "X-Pm-Internal-Id: abc==", "X-Pm-Date: x", f"Message-ID: {own}", f"References: <1@x> {own}",
        f"In-Reply-To: {own}", "Date: Tue, 01 Dec 2026 10:00:00 +0000",
    )  # fmt: skip
    made = again(raw).letter
    assert made.references == ("<1@x>",)
    assert (made.in_reply_to, made.message_id) == (None, "")
    written = compose(letter(references=made.references, text=made.text, to=made.to))[0]
    assert isinstance(written, bytes)
    assert b"X-Pm" not in written
    assert b"internalid" not in written


def test_recipients_that_are_not_finished_are_kept_apart() -> None:
    """Bridge stores no draft with a half-typed address (append-draft-kinds)."""
    made = again(stored("To: bob, a@x.test, half@", "Cc: Jo <jo@>"))
    assert made.letter.to == (Address("", "a@x.test"),)
    assert made.letter.cc == ()
    assert made.unfinished == ("bob", "half@", "Jo <jo@>")


def test_a_draft_with_nothing_in_it_is_a_letter_too() -> None:
    made = again(b"\r\n")
    assert made == Redraft(Letter(sender=Address("", "")))


@pytest.mark.parametrize("text", ["a\u200bb\u202ec\n", "caf\u0065\u0301\n", "tab\there\n", "  indented\n\n\n"])
def test_ones_own_text_is_not_cleaned(text: str) -> None:
    assert again(wire(letter(text=text))).letter.text == text


def test_a_draft_of_another_program_is_read_as_that_program_meant_it() -> None:
    raw = stored(
        content_type="text/plain; charset=iso-8859-1; format=flowed",
        body="Gr\u00fc\u00dfe \nund mehr\n".encode("latin-1"),
    )
    assert again(raw).letter.text == "Grüße und mehr\n"
    html = stored(content_type="text/html; charset=utf-8", body="<p>x</p>\r\n")
    assert (again(html).letter.text, again(html).letter.html) == ("", "<p>x</p>\n")


def test_names_of_files_of_another_program_become_names_that_can_be_written() -> None:
    raw = several(
        part("text/plain", "x", encoding="7bit"),
        file('attachment; filename="../../e\u202evil.txt"'.encode()),
        file("attachment"),
    )
    made = whole(raw)
    assert [one.filename for one in made.enclosures] == ["evil.txt", "attachment.bin"]
    compose(letter(enclosures=made.enclosures))


def as_sent(one: Enclosure, octets: bytes) -> Enclosure:
    """A message that travels as it is has its bare line feeds turned into line ends."""
    if one.media_type == "message/rfc822" and one.passage is not Passage.BINARY:
        octets = re.sub(rb"(?<!\r)\n", b"\r\n", octets)
    return enclosure(octets)


@several_letters
@given(letters(), st.booleans())
def test_a_letter_stored_and_read_again_is_composed_to_the_same_meaning(
    made: tuple[Letter, list[bytes]], edited: bool
) -> None:
    asked, contents = made
    got = whole(wire(asked, *contents, bcc=True))
    sent = addressed(asked)

    def people(given: Any) -> list[Address]:
        return [Address(line(one.name), one.email) for one in given]

    assert people((got.sender, *got.to, *got.cc, *got.bcc, *got.reply_to)) == people(
        (sent.sender, *sent.to, *sent.cc, *sent.bcc, *sent.reply_to)
    )
    assert got.subject == line(asked.subject)
    assert (got.message_id, got.date, got.in_reply_to) == (asked.message_id, asked.date, asked.in_reply_to)
    assert got.references == tuple(dict.fromkeys(asked.references))
    assert sorted(one.sha256 for one in got.enclosures) == sorted(
        as_sent(one, octets).sha256 for one, octets in zip(asked.enclosures, contents, strict=True)
    )
    assert {one.content_id for one in got.enclosures} <= {one.content_id for one in asked.enclosures} | {None}
    compose(got, bcc=edited)
