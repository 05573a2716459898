"""Whatever letter is composed, Bridge can take it: what it would refuse, change or drop, held against its rules as recorded.

The rules are the simulator's, which the recordings hold: append-gate, append-draft-kinds, send-odd-mime,
send-inline-image-without-id, smtp-line-too-long, smtp-data-bytes.
"""

from __future__ import annotations

from hypothesis import given

from mcp_proton.domain.mail import Address
from mcp_proton.domain.outgoing import Letter
from mcp_proton.mime.composing.addressing import addressed
from mcp_proton.simulator.imap.append_gate import check_recipients, gate
from mcp_proton.simulator.texts.addresses import parse_addresses
from mcp_proton.simulator.texts.mime_faults import base64_fault, people_fault, structure_fault
from mcp_proton.simulator.texts.parts import leaves, of_composer
from mcp_proton.simulator.texts.sections import Section

from .outgoing import enclosure, letter, wire
from .test_compose_laws import letters, several

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def section(raw: bytes) -> Section:
    return Section(raw, 0, len(raw))


@several
@given(letters())
def test_bridge_takes_every_letter_apart(made: tuple[Letter, list[bytes]]) -> None:
    asked, contents = made
    raw = wire(asked, *contents, bcc=True)
    message = section(raw)
    assert structure_fault(message) == ""
    assert people_fault(message) == ""
    assert [base64_fault(one) for one in leaves(message)] == [""] * len(list(leaves(message)))
    gate(raw)
    check_recipients(raw)


@several
@given(letters())
def test_bridge_reads_the_very_addresses_of_the_envelope(made: tuple[Letter, list[bytes]]) -> None:
    """A recipient whose spelling differs from the header's is taken for Bcc (smtp-recipients-header-against-rcpt)."""
    asked, contents = made
    sent = addressed(asked)
    raw = wire(asked, *contents, bcc=True)
    named = [
        one.address
        for field in section(raw).fields
        if field.name in {"to", "cc", "bcc"}
        for one in parse_addresses(field.value)
    ]
    assert tuple(dict.fromkeys(named)) == sent.recipients


def test_a_picture_without_a_place_in_the_html_does_not_turn_the_mail_into_another() -> None:
    raw = wire(letter(text="Hi\n", enclosures=(enclosure(PNG, "a.png", "image/png"),)), PNG)
    content = of_composer(section(raw))
    assert (content.media_type, content.body.strip()) == ("text/plain", b"Hi")
    assert [one.content for one in content.attachments] == [PNG]


@several
@given(letters(kinds=("application/pdf", "image/png")))
def test_bridge_sends_the_body_and_the_files_that_were_asked_for(made: tuple[Letter, list[bytes]]) -> None:
    asked, contents = made
    content = of_composer(section(wire(asked, *contents)))
    files = [one.content for one in content.attachments if one.media_type != "text/calendar"]
    assert sorted(files) == sorted(contents)
    assert content.media_type == ("text/plain" if asked.html is None else "text/html")


def test_names_of_every_kind_stay_with_their_addresses() -> None:
    people = (Address('D"Arc, Jeanne', "j@x.test"), Address("山田太郎" * 20, "y@x.test"), Address("", "z@x.test"))
    value = next(field.value for field in section(wire(letter(to=people))).fields if field.name == "to")
    assert [one.address for one in parse_addresses(value)] == ["j@x.test", "y@x.test", "z@x.test"]
