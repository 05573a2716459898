"""What a letter becomes (P-60, A-20, A-40, A-41, P-95, J-137)."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from mcp_proton.domain.errors import Conflict, Invalid
from mcp_proton.domain.mail import Address
from mcp_proton.domain.outgoing import Enclosure, Letter, Passage
from mcp_proton.mime.composing.addressing import addressed, needs_smtputf8
from mcp_proton.mime.composing.compose import compose, composed_size, message_id, needs_eight_bit
from mcp_proton.mime.composing.enclosing import Slot, streamed
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.structure import parse
from tests.unit.mime.outgoing import BOB, ME, chunks_of, enclosure, letter, names_and_addresses, parts, read, wire

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
ICS = "BEGIN:VCALENDAR\r\nMETHOD:REPLY\r\nBEGIN:VEVENT\r\nUID:1\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"


def content(message: Any) -> str:
    """The text of a part, as a program on a system of line feeds shows it."""
    return str(message.get_content()).replace("\r\n", "\n")


def test_a_plain_letter_reads_as_it_was_written() -> None:
    assert wire(letter()) == (
        b"From: Ada Lovelace <ada@example.org>\r\n"
        b"To: Bob <bob@example.net>\r\n"
        b"Subject: Hello\r\n"
        b"Date: Tue, 01 Dec 2026 10:00:00 +0000\r\n"
        b"Message-ID: <1.ada@example.org>\r\n"
        b"MIME-Version: 1.0\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n"
        b"Content-Transfer-Encoding: 7bit\r\n"
        b"\r\n"
        b"Hi Bob,\r\nall is well.\r\n"
    )


def test_the_same_letter_becomes_the_same_octets_and_another_one_does_not() -> None:
    """A-40: what was approved is what leaves; nothing depends on the clock or on chance."""
    asked = letter(html="<p>Hi</p>", enclosures=(enclosure(b"a"),))
    assert compose(asked) == compose(asked)
    assert compose(asked) != compose(letter(html="<p>Hi</p>", enclosures=(enclosure(b"b"),)))


def test_bcc_is_in_a_draft_and_in_the_envelope_and_in_nobodys_mail() -> None:
    """A-41, P-60."""
    asked = letter(bcc=(Address("Eve", "eve@example.com"),))
    assert b"eve" not in wire(asked)
    assert b"Bcc: Eve <eve@example.com>\r\n" in wire(asked, bcc=True)
    assert asked.recipients == ("bob@example.net", "eve@example.com")


def test_html_alone_gets_a_plain_text_made_from_it() -> None:
    raw = wire(letter(text="", html="<p>One</p><ul><li>two</li></ul>"))
    assert parts(raw) == ["multipart/alternative", "text/plain", "text/html"]
    assert parse.parse(raw).text == "One\n\n- two"


def test_a_text_that_was_given_is_not_replaced_by_one_made_from_the_html() -> None:
    assert parse.parse(wire(letter(text="mine", html="<p>other</p>"))).text == "mine"


def test_everything_at_once_stands_where_mail_programs_look_for_it() -> None:
    picture = enclosure(PNG, "a.png", "image/png", content_id="a@b")
    asked = letter(
        html='<p>See <img src="cid:a@b"></p>',
        enclosures=(picture, enclosure(b"pdf", "b.pdf", "application/pdf")),
        calendar=ICS,
    )
    raw = wire(asked, PNG, b"pdf")
    assert parts(raw) == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "text/calendar",
        "application/pdf",
    ]
    found = {one.get_content_type(): one for one in read(raw).walk()}
    assert found["image/png"]["Content-ID"] == "<a@b>"
    assert found["image/png"]["Content-Disposition"].startswith("inline")
    assert found["application/pdf"].get_payload(decode=True) == b"pdf"
    assert found["text/calendar"].get_param("method") == "REPLY"


def test_no_inline_part_is_without_an_id_and_none_is_inline_without_html() -> None:
    """Bridge turns a mail with an inline picture without Content-ID into another mail (send-inline-image-without-id)."""
    picture = enclosure(PNG, "a.png", "image/png", content_id="a@b")
    raw = wire(letter(enclosures=(picture,)), PNG)
    assert b"inline" not in raw
    assert b"Content-Disposition: attachment; filename=a.png\r\n" in raw


def test_two_inline_parts_of_one_id_are_refused() -> None:
    picture = enclosure(PNG, "a.png", "image/png", content_id="a@b")
    with pytest.raises(Invalid, match="content_id"):
        compose(letter(html="x", enclosures=(picture, picture)))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("plain\n", "7bit"),
        ("", "7bit"),
        ("a" * 79, "quoted-printable"),
        ("a" * 100_000, "quoted-printable"),
        ("Grüße aus Köln und noch ein wenig Text dazu\n", "quoted-printable"),
        ("日本語のメールです。\n" * 3, "base64"),
        ("שלום עולם\n" * 3, "base64"),
        ("From here on\n", "quoted-printable"),
        ("form\ffeed", "quoted-printable"),
        ("🎉", "base64"),
    ],
)
def test_the_encoding_is_chosen_by_the_content(text: str, encoding: str) -> None:
    raw = wire(letter(text=text))
    message = read(raw)
    assert message["Content-Transfer-Encoding"] == encoding
    assert content(message) == (text if text.endswith("\n") or not text else f"{text}\n")
    assert max(map(len, raw.split(b"\r\n"))) <= 78


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\r\nb", "a\r\n.\r\nRSET\nb", "\n.\nQUIT\n"])
def test_every_line_end_is_crlf_so_that_no_dot_ends_the_mail_early(text: str) -> None:
    """A dot between bare LFs ends DATA on Bridge (smtp-data-bytes)."""
    raw = wire(letter(text=text, html=text))
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", raw)


def test_a_line_that_begins_like_an_mbox_separator_survives_mail_stores() -> None:
    raw = wire(letter(text="From Monday on\n>From x\n" + "From " + "x" * 200))
    assert not re.search(rb"^From ", raw, re.MULTILINE)
    assert content(read(raw)) == "From Monday on\n>From x\nFrom " + "x" * 200 + "\n"
    assert max(map(len, raw.split(b"\r\n"))) <= 78


@pytest.mark.parametrize(
    "field", ["subject", "sender", "to", "cc", "bcc", "reply_to", "message_id", "in_reply_to", "references"]
)
@pytest.mark.parametrize(
    "bad", ["\r\nBcc: evil@example.com", "\nX: y", "\rX: y", "\0", "\x0bX: y", "\x85X: y", "\u2028X: y", "\ud800"]
)
def test_no_field_can_hold_a_line_break_and_the_refusal_does_not_repeat_it(field: str, bad: str) -> None:
    values = {
        "subject": f"secret{bad}",
        "sender": Address(f"secret{bad}", "a@b.c"),
        "message_id": f"<secret{bad}@b>",
        "in_reply_to": f"<secret{bad}@b>",
        "references": ("<ok@b>", f"<secret{bad}@b>"),
    }
    value = values.get(field, (BOB, Address(f"secret{bad}", "a@b.c")))
    with pytest.raises(Invalid) as refused:
        compose(letter(**{field: value}), bcc=True)
    assert f"`{field}" in refused.value.message
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "email",
    [
        "a@b\r\nX: y", "a@b> NOTIFY=NEVER", "a b@c.d", "a@b c", "a", "@b", "a@", "a..b@c.d", ".a@b", "<a@b>",
        "a@b,c@d", "a@[evil\n]",
        "a@-b-", "a@b..c", '"a"b"@c', "a@b;c", "x" * 251 + "@b.c", "a@" + "é" * 70 + ".com", "a\u202e@b.c",
        "a\u200b@b.c", "a@b(c)",
        "undisclosed-recipients:;", "a@exa mple", "a\x00@b", "a@b\ud800", "a@xn--\u0001", '"a..b"@c.d',
    ],
)  # fmt: skip
def test_an_address_that_is_not_plainly_one_is_refused(email: str) -> None:
    """Bridge takes `RCPT TO:<a@b> NOTIFY=NEVER` for a recipient (smtp-mail-parameters)."""
    with pytest.raises(Invalid, match=r"`to\[1\]`"):
        compose(letter(to=(BOB, Address("", email))))


@pytest.mark.parametrize(
    ("given", "travels"),
    [
        ("a@bücher.example", "a@xn--bcher-kva.example"),
        ("a@BÜCHER.example", "a@xn--bcher-kva.example"),
        ("Bob.Smith+x@Example.ORG", "Bob.Smith+x@Example.ORG"),
        ("用户@例え.jp", "用户@xn--r8jz45g.jp"),
        ("a@[127.0.0.1]", "a@[127.0.0.1]"),
        ("bounce_x=y@host_1.example", "bounce_x=y@host_1.example"),
        ("a@localhost", "a@localhost"),
    ],
)
def test_header_and_envelope_spell_an_address_alike_and_domains_travel_in_ascii(given: str, travels: str) -> None:
    """Bridge sends to a recipient whose RCPT differs from the header by its case as if it were Bcc."""
    asked = addressed(letter(to=(Address("", given),)))
    assert asked.recipients == (travels,)
    assert f"To: {travels}\r\n".encode() in wire(asked)
    assert wire(asked) == wire(letter(to=(Address("", given),)))


def test_a_letter_says_whether_it_needs_smtputf8() -> None:
    """RFC 6531: a domain has an A-label, a local part has none."""
    assert needs_smtputf8(letter(cc=(Address("", "用户@example.jp"),)))
    assert not needs_smtputf8(letter(cc=(Address("用户", "a@例え.jp"),), subject="例え"))


@pytest.mark.parametrize(
    "name",
    [
        "", "Bob", "Bob Smith", "Dr. Bob", 'Bob "the" Builder', "Smith, Bob", "back\\slash", "a@b.c", "Jörg Müller",
        "山田太郎" * 30,
        "=?utf-8?q?no?=", "=?", "=", "a = b", "(comment)", "a  b", " led", "🎉 Party", "שלום", "x" * 300,
        "it's", "<x>", "tab\there",
    ],
)  # fmt: skip
def test_a_display_name_is_carried_as_it_is_and_never_invented(name: str) -> None:
    """J-137."""
    raw = wire(letter(to=(BOB, Address(name, "x@example.com"), BOB)))
    found = names_and_addresses(raw, "To")
    assert found == [("Bob", "bob@example.net"), (name, "x@example.com"), ("Bob", "bob@example.net")]
    assert max(map(len, raw.split(b"\r\n"))) <= 78


@pytest.mark.parametrize(
    "subject",
    [
        "", "Hello", "a  b   c", " led by a blank", "ended by one ", "word " * 60, "x" * 2_000, "Grüße",
        "日本語" * 100, "🎉" * 80,
        "שלום " * 40, "=?utf-8?q?literal?=", "a =? b", "tab\there", "a: b", "👩‍👩‍👧‍👦 family",
    ],
)  # fmt: skip
def test_a_subject_of_any_length_and_script_is_folded_and_read_back(subject: str) -> None:
    raw = wire(letter(subject=subject))
    assert read(raw)["Subject"] == subject
    assert max(map(len, raw.split(b"\r\n"))) <= 78
    assert not any(not one.strip() for one in raw.split(b"\r\n\r\n")[0].split(b"\r\n"))


@pytest.mark.parametrize(
    "name",
    [
        "report.pdf", "two words.pdf", "Übersicht.pdf", "日本語の名前.txt", "🎉.png", "x" * 200 + ".pdf", 'quo"te.txt',
        "it's.txt",
        "100%.txt", "a;b=c.txt", "=?utf-8?q?x?=.txt", "שלום.pdf", "é" * 120, "semi;colon", "star*.txt", "a\tb.txt",
    ],
)  # fmt: skip
def test_a_file_name_is_carried_in_any_script_and_length(name: str) -> None:
    raw = wire(letter(enclosures=(enclosure(b"x", name),)), b"x")
    attached = next(iter(read(raw).iter_attachments()))
    assert attached.get_filename() == name
    assert parse.structure(raw).children[1].filename == name
    assert max(map(len, raw.split(b"\r\n"))) <= 78


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "a\\b", "x" * 256, "a\r\nX: y", "a\0b"])
def test_a_file_name_that_is_a_path_or_breaks_a_line_is_refused(name: str) -> None:
    """P-95."""
    with pytest.raises(Invalid, match=r"`enclosures\[0\]\.filename`"):
        compose(letter(enclosures=(enclosure(b"x", name),)))


@pytest.mark.parametrize(
    "media_type", ["", "pdf", "multipart/mixed", "text/plain\r\nX: y", "a/b/c", "/", "text/ plain"]
)
def test_a_type_that_is_none_of_a_single_part_is_refused(media_type: str) -> None:
    with pytest.raises(Invalid, match=r"`enclosures\[0\]\.media_type`"):
        compose(letter(enclosures=(enclosure(b"x", "x", media_type),)))


def test_parameters_of_a_type_are_kept_but_for_those_that_are_ours() -> None:
    kind = "text/csv; charset=iso-8859-15; header=present; name=x; boundary=y"
    raw = wire(letter(enclosures=(enclosure(b"x", "x.csv", kind),)), b"x")
    assert b"Content-Type: text/csv; charset=iso-8859-15; header=present\r\n" in raw


def test_references_are_folded_one_id_after_another() -> None:
    ids = tuple(f"<{number:030}@example.org>" for number in range(40))
    raw = wire(letter(references=ids, in_reply_to=ids[-1]))
    assert read(raw)["References"] == " ".join(ids)
    assert max(map(len, raw.split(b"\r\n"))) <= 78


def test_a_very_long_id_still_stands_on_one_line_the_wire_allows() -> None:
    one = f"<{'x' * 880}@example.org>"
    raw = wire(letter(references=("<a@b>", one), in_reply_to=one))
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    assert Headers(raw).get("In-Reply-To") == one.encode()


@pytest.mark.parametrize("missing", [{"message_id": ""}, {"date": None}, {"date": datetime(2026, 1, 1)}])
def test_what_makes_a_message_its_own_must_be_fixed_beforehand(missing: dict[str, object]) -> None:
    with pytest.raises(Invalid, match=f"`{next(iter(missing))}`"):
        compose(letter(**missing))


def test_the_date_keeps_its_own_offset() -> None:
    asked = letter(date=datetime(2026, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=-9, minutes=-30))))
    assert b"Date: Tue, 03 Feb 2026 04:05:06 -0930\r\n" in wire(asked)


def test_a_message_id_is_made_under_the_senders_domain() -> None:
    assert message_id("a@bücher.example", "01J.x-9") == "<01J.x-9@xn--bcher-kva.example>"
    with pytest.raises(Invalid):
        message_id("a@example.org", "a>\r\nX: y")


INNER = b"From: x@y.z\r\nSubject: inner\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n"


@pytest.mark.parametrize(
    ("inner", "encoding", "becomes"),
    [
        (b"Subject: x\r\n\r\nplain\r\n", "7bit", b"Subject: x\r\n\r\nplain\r\n"),
        (INNER, "8bit", INNER),
        (b"Subject: x\n\nfrom a file\n", "7bit", b"Subject: x\r\n\r\nfrom a file\r\n"),
        (b"Subject: x\r\n\r\nno line end", "7bit", b"Subject: x\r\n\r\nno line end"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 5, 1_000])
def test_a_message_in_a_message_is_never_encoded(inner: bytes, encoding: str, becomes: bytes, chunk: int) -> None:
    """RFC 2046 §5.2.1; what is around an 8bit part says so too (RFC 2045 §6.4)."""
    asked = letter(enclosures=(enclosure(inner, "x.eml", "message/rfc822"),))
    raw = wire(asked, inner, chunk=chunk)
    assert f"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: {encoding}\r\n".encode() in raw
    assert becomes in raw
    assert read(raw)["Content-Transfer-Encoding"] == encoding
    assert len(raw) == composed_size(asked)
    assert needs_eight_bit(asked) == (encoding == "8bit")
    assert parts(raw)[2] == "message/rfc822"


@pytest.mark.parametrize(
    "inner", [b"Subject: x\r\n\r\n" + b"y" * 999, b"Subject: x\r\n\r\na\0b", b"Subject: x\r\n\r\na\rb", b"a\r"]
)
def test_a_message_that_cannot_travel_as_it_is_goes_as_a_file_byte_for_byte(inner: bytes) -> None:
    asked = letter(enclosures=(enclosure(inner, "x.eml", "message/rfc822"),))
    attached = next(iter(read(wire(asked, inner)).iter_attachments()))
    assert attached.get_content_type() == "application/octet-stream"
    assert attached.get_payload(decode=True) == inner
    assert attached.get_filename() == "x.eml"


def test_a_message_that_quotes_a_whole_other_one_with_its_boundaries_is_read_as_one() -> None:
    earlier = wire(letter(html="<p>x</p>", enclosures=(enclosure(b"a"),)), b"a")
    asked = letter(text=earlier.decode(), html="<p>x</p>", enclosures=(enclosure(earlier, "x.eml", "message/rfc822"),))
    raw = wire(asked, earlier)
    assert [part.media_type for part in parse.structure(raw).children] == ["multipart/alternative", "message/rfc822"]
    assert content(read(raw).get_body(("plain",))) == earlier.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("size", [0, 1, 2, 3, 56, 57, 58, 113, 114, 115, 57 * 1024, 100_001])
@pytest.mark.parametrize("chunk", [1_000_000, 4_099, 57])
def test_an_enclosure_is_base64_in_lines_of_76_and_its_size_is_known_before(size: int, chunk: int) -> None:
    octets = bytes(number % 251 for number in range(size))
    asked = letter(enclosures=(enclosure(octets),))
    raw = wire(asked, octets, chunk=chunk)
    assert len(raw) == composed_size(asked)
    assert next(iter(read(raw).iter_attachments())).get_payload(decode=True) == octets
    assert max(map(len, raw.split(b"\r\n"))) <= 78


@pytest.mark.parametrize("arrived", [b"abd", b"ab", b"abcd", b""])
async def test_a_file_that_changed_since_it_was_pinned_never_completes_a_mail(arrived: bytes) -> None:
    """A-40: one byte changed later, and what was approved is void."""
    pieces = compose(letter(enclosures=(enclosure(b"abc"), enclosure(b"later"))))
    said: list[bytes] = []

    async def send() -> None:
        said.extend([chunk async for chunk in streamed(pieces, lambda _: chunks_of(arrived, 2))])

    with pytest.raises(Conflict, match="no longer what it was"):
        await send()
    assert pieces[-1] not in said


async def test_a_large_enclosure_is_never_held_as_a_whole() -> None:
    size = 12 << 20
    block = bytes(range(256)) * 4_096

    async def opened(_: Enclosure) -> AsyncIterator[bytes]:
        for _n in range(size // len(block)):
            yield block

    survey = enclosure(block * (size // len(block)))
    pieces = compose(letter(enclosures=(survey,)))
    tracemalloc.start()
    length = 0
    async for chunk in streamed(pieces, opened):
        length += len(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert length == sum(len(one) if isinstance(one, bytes) else one.size for one in pieces)
    assert peak < 2 << 20


def test_an_enclosure_knows_what_it_needs_to_travel() -> None:
    assert enclosure(b"a\r\nb").passage is Passage.SEVEN_BIT
    assert enclosure(b"a\nb\r\nc\n").line_feeds == 2
    assert enclosure("ä".encode()).passage is Passage.EIGHT_BIT
    assert enclosure(b"\0").passage is Passage.BINARY
    assert Enclosure("x", "text/plain", 1, "0" * 64).passage is Passage.BINARY


def test_a_body_with_a_nul_or_half_a_character_is_refused() -> None:
    for field in ("text", "html", "calendar"):
        for bad in ("a\0b", "a\ud800b"):
            with pytest.raises(Invalid, match=f"`{field}`"):
                compose(letter(**{field: f"METHOD:REPLY\n{bad}"}))


def test_a_calendar_must_say_what_it_asks_for() -> None:
    """RFC 6047 §2.4."""
    with pytest.raises(Invalid, match="`calendar`"):
        compose(letter(calendar="BEGIN:VCALENDAR\nEND:VCALENDAR\n"))


def test_a_content_id_cannot_break_its_field() -> None:
    for bad in ("a>\r\nX: y", "a b", "", "ä"):
        with pytest.raises(Invalid, match="content_id"):
            compose(letter(html="x", enclosures=(enclosure(b"x", content_id=bad),)))


def test_a_letter_without_recipients_can_be_a_draft() -> None:
    raw = wire(Letter(sender=ME, message_id="<a@b>", date=letter().date), bcc=True)
    assert b"To:" not in raw
    assert read(raw).get_content() == ""


def test_slots_are_where_the_octets_go() -> None:
    asked = letter(enclosures=(enclosure(b"abc", "a"), enclosure(b"defg", "b")))
    before, first, between, second, after = compose(asked)
    assert isinstance(first, Slot)
    assert isinstance(second, Slot)
    assert [first.size, second.size] == [4, 8]
    assert all(isinstance(one, bytes) for one in (before, between, after))
