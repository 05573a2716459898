"""Which parts there are, which are read, which are attached: from octets, and from the tree alone."""

from __future__ import annotations

import pytest

from mcp_proton.domain.mail import Attachment, AttachmentKind, Part
from mcp_proton.mime.decoding.encoding import decode
from mcp_proton.mime.limits import Limits
from mcp_proton.mime.structure.outline import outline
from mcp_proton.mime.structure.parse import parse, section, structure
from mcp_proton.mime.structure.selecting import attachments, has_attachments, is_stub, readable

from .letters import TEXT, file, letter, part, several

NESTED_MESSAGE = letter("Subject: inner", body="inner body")
BODIES: dict[str, bytes] = {
    "no boundary parameter": letter(content_type="multipart/mixed", body=b"--BB\r\n" + TEXT + b"\r\n--BB--\r\n"),
    "blanks behind the boundary": several(TEXT).replace(b"--BB\r\n", b"--BB  \r\n"),
    "a boundary with specials, unquoted": letter(
        content_type="multipart/mixed; boundary=----=_Part_1:2",
        body=b"------=_Part_1:2\r\n" + TEXT + b"\r\n------=_Part_1:2--\r\n",
    ),
    "a boundary in single quotes": letter(
        content_type="multipart/mixed; boundary='BB'", body=b"--'BB'\r\n" + TEXT + b"\r\n--'BB'--\r\n"
    ),
    "a boundary that is not there": letter(content_type="multipart/mixed; boundary=ZZ"),
    "another boundary than said": letter(
        content_type="multipart/mixed; boundary=ZZ", body=b"--BB\r\n" + TEXT + b"\r\n--BB--\r\n"
    ),
    "text behind the end": several(TEXT) + b"epilogue --BB\r\nx",
    "text before the beginning": several(TEXT).replace(b"\r\n\r\n--BB", b"\r\n\r\nThis is MIME\r\n--BB", 1),
    "a part without header or blank line": several(b"hello body"),
    "a part with an empty header": several(b"\r\nhello body"),
    "a type of one word": letter(content_type="text"),
    "an empty type": letter(content_type=""),
    "a type of junk": letter(content_type="text/html text/plain;;=x"),
    "a type given twice": letter("Content-Type: text/plain", "Content-Type: text/html"),
    "HTML as the only alternative": several(b"Content-Type: text/html\r\n\r\n<p>hello body</p>", subtype="alternative"),
    "LF in a multipart": several(TEXT).replace(b"\r\n", b"\n"),
    "CR in a multipart": several(TEXT).replace(b"\r\n", b"\r"),
}


@pytest.mark.parametrize("raw", BODIES.values(), ids=BODIES.keys())
def test_a_body_of_any_shape_gives_its_text(raw: bytes) -> None:
    assert parse(raw).text == "hello body"


def test_an_uuencoded_file_in_the_text_stays_text() -> None:
    assert parse(letter(body="hello body\r\nbegin 644 a.txt\r\n#86)C\r\n`\r\nend\r\n")).text.startswith(
        "hello body\nbegin"
    )


NAMES: dict[str, tuple[str | bytes, str]] = {
    "RFC 2231": ("attachment; filename*=utf-8''Rechnung%20M%C3%A4rz.pdf", "Rechnung März.pdf"),
    "RFC 2231 in pieces": (
        "attachment; filename*0*=utf-8''Rech%C3; filename*1*=%A4nung; filename*2=.pdf",
        "Rechänung.pdf",
    ),
    "pieces out of order": ("attachment; filename*1=b.pdf; filename*0=a", "ab.pdf"),
    "RFC 2231 wins over plain": ("attachment; filename=\"plain.pdf\"; filename*=utf-8''%C3%A4.pdf", "ä.pdf"),
    "encoded word": ('attachment; filename="=?utf-8?B?TcOkcnoucGRm?="', "März.pdf"),
    "encoded words, folded": ('attachment; filename="=?utf-8?Q?M=C3=A4?=\r\n =?utf-8?Q?rz.pdf?="', "März.pdf"),
    "raw utf-8": ('attachment; filename="März.pdf"', "März.pdf"),
    "blanks, unquoted": ("attachment; filename=my file.pdf", "my file.pdf"),
    "a quoted quote": (r'attachment; filename="a\"b.pdf"', "a_b.pdf"),
    "a path": ('attachment; filename="../../etc/passwd"', "passwd"),
    "a path of Windows": (r'attachment; filename="C:\\temp\\a.exe"', "a.exe"),
    "a broken escape": ("attachment; filename*=utf-8''M%ZZ.pdf", "M%ZZ.pdf"),
    "an unknown charset": ("attachment; filename*=foo-8''M%E4.pdf", "Mä.pdf"),
    "a turned direction": ("attachment; filename*=utf-8''a%E2%80%AEgpj.exe", "agpj.exe"),
    "no name": ("attachment", "attachment.bin"),
    "garbage between": ('attachment; ; filename="a.bin"; size=', "a.bin"),
    "a bad date": ('attachment; filename=a.bin; modification-date="foo"; size=abc', "a.bin"),
}


@pytest.mark.parametrize(("disposition", "name"), NAMES.values(), ids=NAMES.keys())
def test_an_attachment_has_a_safe_name_and_its_octets(disposition: str, name: str) -> None:
    """P-95: names are checked for any file system."""
    found = outline(several(TEXT, file(disposition)))
    (only,) = attachments(found.root)
    assert only.filename == name
    assert decode(found.octets(only.part), only.part.encoding).octets == b"ATTDATA"


def test_a_changed_name_is_reported() -> None:
    assert "file_name_changed" in parse(several(TEXT, file('attachment; filename="../a"'))).notices
    assert "file_name_changed" not in parse(several(TEXT, file('attachment; filename="a"'))).notices


def listed(raw: bytes) -> list[tuple[str, str, AttachmentKind, bool]]:
    return [(one.filename, one.part.path, one.kind, one.inline) for one in parse(raw).attachments]


def test_a_name_may_stand_in_the_content_type_only() -> None:
    assert listed(several(TEXT, part("application/pdf; name=n.pdf", "x"))) == [
        ("n.pdf", "2", AttachmentKind.FILE, False)
    ]


def test_a_text_with_a_name_is_attached_when_it_says_so() -> None:
    raw = several(TEXT, part("text/plain; name=n.txt", "x", "Content-Disposition: attachment; filename=n.txt"))
    assert listed(raw) == [("n.txt", "2", AttachmentKind.FILE, False)]
    assert parse(raw).text == "hello body"


def test_texts_of_a_mixed_message_are_read_in_order() -> None:
    raw = several(
        TEXT, part("image/png", "x", "Content-Disposition: inline; filename=a.png"), TEXT.replace(b"hello", b"and")
    )
    assert parse(raw).text == "hello body\n\nand body"
    assert listed(raw) == [("a.png", "2", AttachmentKind.FILE, True)]


def test_html_and_plain_beside_each_other_are_both_read() -> None:
    """A list's footer beside an HTML body must not hide the body, nor the other way round."""
    raw = several(part("text/html", "<p>main <b>text</b></p>"), TEXT)
    assert parse(raw).text == "main text\n\nhello body"


def test_a_picture_of_the_layout_is_inline_and_no_attachment_to_a_person() -> None:
    raw = several(
        part("text/html", "<p>hello<img src=cid:1>"), part("image/png", "x", "Content-ID: <1>"), subtype="related"
    )
    assert listed(raw) == [("image.png", "2", AttachmentKind.FILE, True)]
    assert not has_attachments(structure(raw))
    assert has_attachments(structure(several(TEXT, file("attachment; filename=a"))))


def test_the_root_of_related_parts_may_stand_last() -> None:
    raw = several(
        part("image/png", "x", "Content-ID: <p>"),
        part("text/html", "<p>hello</p>", "Content-ID: <r>"),
        subtype="related",
        parameters='; start="<r>"',
    )
    assert parse(raw).text == "hello"
    assert [one.part.path for one in parse(raw).attachments] == ["1"]


def test_a_message_in_a_message_is_one_attachment_and_not_part_of_the_text() -> None:
    raw = several(
        TEXT,
        b"Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename=f.eml\r\n\r\n" + NESTED_MESSAGE,
    )
    assert listed(raw) == [("f.eml", "2", AttachmentKind.MESSAGE, False)]
    assert parse(raw).text == "hello body"


def test_a_message_that_is_encoded_against_the_rules_is_not_opened() -> None:
    raw = several(TEXT, part("message/rfc822; name=f.eml", NESTED_MESSAGE))
    assert listed(raw) == [("f.eml", "2", AttachmentKind.MESSAGE, False)]
    assert structure(raw).children[1].children == ()


SPECIAL = {
    "application/ms-tnef": (AttachmentKind.OUTLOOK, {"winmail_dat"}),
    "application/octet-stream; name=WINMAIL.DAT": (AttachmentKind.OUTLOOK, {"winmail_dat"}),
    "application/pkcs7-mime; smime-type=enveloped-data": (AttachmentKind.ENCRYPTED, {"encrypted"}),
    "application/pkcs7-mime; smime-type=signed-data": (AttachmentKind.SIGNATURE, {"signed"}),
    "application/pgp-keys": (AttachmentKind.KEY, set()),
    "text/calendar; method=REQUEST": (AttachmentKind.CALENDAR, {"invitation"}),
    "text/vcard": (AttachmentKind.CONTACT, set()),
    "message/delivery-status": (AttachmentKind.REPORT, set()),
    "message/external-body; access-type=URL": (AttachmentKind.ELSEWHERE, {"external_content"}),
    "message/partial; number=1; total=2; id=x": (AttachmentKind.MESSAGE, set()),
}


@pytest.mark.parametrize(("media_type", "said"), SPECIAL.items())
def test_what_cannot_be_opened_is_named_as_what_it_is(media_type: str, said: tuple[AttachmentKind, set[str]]) -> None:
    message = parse(several(TEXT, part(media_type, "x", encoding="7bit")))
    assert [one.kind for one in message.attachments] == [said[0]]
    assert message.notices - {"file_name_changed"} == said[1]
    assert message.text == "hello body"


def test_signed_and_encrypted_messages_say_so() -> None:
    signed = several(TEXT, part("application/pgp-signature", "x"), subtype="signed")
    assert parse(signed).notices == {"signed"}
    assert not has_attachments(structure(signed))
    encrypted = several(
        part("application/pgp-encrypted", "Version: 1"), part("application/octet-stream", "x"), subtype="encrypted"
    )
    assert "encrypted" in parse(encrypted).notices
    armoured = letter(body="-----BEGIN PGP MESSAGE-----\r\nx\r\n-----END PGP MESSAGE-----\r\n")
    assert "encrypted" in parse(armoured).notices


def test_reports_with_broken_parts_still_read() -> None:
    raw = several(TEXT, part("message/delivery-status", "!!!!", encoding="base64"), subtype="report")
    assert parse(raw).text == "hello body"


STUBS = [
    "",
    "  \n\n",
    "https://x.test/view?id=1",
    "Your email client does not support HTML messages.",
    "This message is in HTML format. View it in your browser: https://x.test/v",
    "Ihr E-Mail-Programm kann leider kein HTML anzeigen.",
    "Si vous ne pouvez pas lire ce message, ouvrez-le dans votre navigateur.",
    "Ver este correo en el navegador",
    "お使いのメールソフトではHTMLメールを表示できません。",
]


@pytest.mark.parametrize("text", STUBS)
def test_a_plain_part_that_says_nothing_is_a_stub(text: str) -> None:
    assert is_stub(text)
    raw = several(
        part("text/plain; charset=utf-8", text), part("text/html", "<p>the real text</p>"), subtype="alternative"
    )
    message = parse(raw)
    assert message.text == "the real text"
    assert "html_converted" in message.notices


def test_a_plain_part_is_preferred_where_it_says_something() -> None:
    """A-68: plain part preferred."""
    raw = several(TEXT, part("text/html", "<p>other</p>"), subtype="alternative")
    message = parse(raw)
    assert (message.text, message.html, message.notices) == ("hello body", "<p>other</p>", frozenset())
    assert not is_stub("See you at noon. The report is attached.")
    assert not is_stub("Kannst du mir bis morgen die HTML-Datei schicken? " + "Danke dir sehr. " * 60)


def tree(path: str, media_type: str, *children: Part, **said: object) -> Part:
    return Part(path, media_type, children=children, **said)  # type: ignore[arg-type] - fields of a Part


def test_the_choice_needs_the_tree_alone() -> None:
    """The usual message: alternatives with pictures, and a file (RFC 8621 §4.1.4)."""
    root = tree(
        "",
        "multipart/mixed",
        tree(
            "1",
            "multipart/alternative",
            tree("1.1", "text/plain"),
            tree("1.2", "multipart/related", tree("1.2.1", "text/html"), tree("1.2.2", "image/png", content_id="a")),
            tree("1.3", "text/calendar"),
        ),
        tree("2", "application/pdf", disposition="attachment", filename="a.pdf"),
    )
    chosen = readable(root)
    assert [one.path for one in chosen.plain] == ["1.1"]
    assert [one.path for one in chosen.html] == ["1.2.1"]
    assert [(one.index, one.part.path, one.inline) for one in attachments(root)] == [
        (1, "1.2.2", True),
        (2, "1.3", False),
        (3, "2", False),
    ]
    assert isinstance(attachments(root)[0], Attachment)


def test_paths_are_section_numbers() -> None:
    inner = several(TEXT, file("attachment; filename=deep.bin"), boundary="CC")
    raw = several(
        TEXT, b"Content-Type: message/rfc822\r\n\r\n" + inner, b"Content-Type: message/rfc822\r\n\r\n" + NESTED_MESSAGE
    )
    paths = {one.path: one.media_type for one in structure(raw).walk() if one.media_type != "message/rfc822"}
    assert paths == {
        "": "multipart/mixed",
        "1": "text/plain",
        "2": "multipart/mixed",
        "2.1": "text/plain",
        "2.2": "application/octet-stream",
        "3.1": "text/plain",
    }
    assert section(raw, "2.1") == b"hello body"
    assert section(raw, "3.1") == b"inner body"
    assert section(raw, "3") == NESTED_MESSAGE
    assert section(raw, "3.TEXT") == b"inner body"
    assert (section(raw, "3.HEADER") or b"").startswith(b"From: A")
    assert section(raw, "1.MIME") == b"Content-Type: text/plain; charset=utf-8\r\n\r\n"
    assert section(raw, "HEADER") == raw[: raw.index(b"\r\n\r\n") + 4]
    assert section(raw, "TEXT") == raw[raw.index(b"\r\n\r\n") + 4 :]
    assert section(raw, "") == raw
    assert section(raw, "9") is section(raw, "1.9") is section(raw, "1.HEADER") is None
    assert section(letter(), "1") == b"hello body\r\n"


def test_sizes_count_encoded_octets() -> None:
    root = structure(several(TEXT, file("attachment; filename=a")))
    assert [one.size for one in root.children] == [len("hello body"), len("QVREREFUQQ==")]


def nested(depth: int) -> bytes:
    content_type, body = "text/plain", b"hello body"
    for level in range(depth):
        mark = b"b%d" % level
        body = (
            b"--"
            + mark
            + b"\r\nContent-Type: "
            + content_type.encode()
            + b"\r\n\r\n"
            + body
            + b"\r\n--"
            + mark
            + b"--\r\n"
        )
        content_type = f"multipart/mixed; boundary=b{level}"
    return letter(content_type=content_type, body=body)


def test_fifty_levels_are_opened() -> None:
    assert parse(nested(50)).text == "hello body"


@pytest.mark.parametrize("depth", [500, 3_000])
def test_levels_beyond_the_limit_are_not_opened_and_reported(depth: int) -> None:
    message = parse(nested(depth))
    assert "nested_too_deep" in message.notices
    assert len(structure(nested(depth)).walk()) <= 61


@pytest.mark.parametrize("count", [5_000, 10_000])
def test_parts_beyond_the_limit_are_left_out_and_reported(count: int) -> None:
    raw = several(TEXT, *[file("attachment; filename=a.bin")] * count)
    message = parse(raw)
    assert message.text == "hello body"
    assert "parts_left_out" in message.notices
    assert len(message.attachments) == 998


def test_messages_in_messages_without_end_are_bounded() -> None:
    raw = letter()
    for _ in range(300):
        raw = b"Content-Type: message/rfc822\r\n\r\n" + raw
    assert "nested_too_deep" in parse(raw).notices


def test_an_unclosed_multipart_ends_with_what_surrounds_it() -> None:
    raw = several(TEXT, file("attachment; filename=a.bin"), closed=False)
    assert [one.filename for one in parse(raw).attachments] == ["a.bin"]
    inner = b"Content-Type: multipart/alternative; boundary=BBB\r\n\r\n--BBB\r\n" + TEXT
    assert [one.filename for one in parse(several(inner, file("attachment; filename=a.bin"))).attachments] == ["a.bin"]


def test_a_boundary_may_begin_like_another() -> None:
    inner = b"Content-Type: multipart/alternative; boundary=BBdef\r\n\r\n--BBdef\r\n" + TEXT + b"\r\n--BBdef--"
    message = parse(several(inner, file("attachment; filename=a.bin")))
    assert (message.text, [one.filename for one in message.attachments]) == ("hello body", ["a.bin"])


def test_a_long_text_is_cut_and_says_so() -> None:
    """A-67: 256 KiB of text."""
    message = parse(letter(body="a" * 300_000))
    assert len(message.text) == 1 << 18
    assert "truncated" in message.notices
    assert len(parse(letter(body="abcdef"), limits=Limits(text=3)).text) == 3
