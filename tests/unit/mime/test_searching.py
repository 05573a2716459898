"""Searching sees what a reader sees: recall is whole whatever the encoding (N-3, B-02)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.query import Contains, Field, HasAttachment, HeaderContains, MessageId, matches
from mcp_proton.mime.header.headers import envelope
from mcp_proton.mime.searching import body_text, candidate, of_envelope
from mcp_proton.mime.structure.outline import outline
from mcp_proton.mime.structure.selecting import readable

from .letters import TEXT, b64, file, html_letter, letter, several

HANDLE = Handle("personal", "aaaaaa", "1")
QP = "Content-Transfer-Encoding: quoted-printable"
BASE64 = "Content-Transfer-Encoding: base64"

FOUND: dict[str, tuple[bytes, Field, str]] = {
    "a phrase over a soft break": (
        letter(QP, body="the quarterly re=\r\nport is ready"),
        Field.BODY,
        "quarterly report",
    ),
    "a word over an escape": (letter(QP, body="caf=C3=A9 au lait"), Field.BODY, "café au lait"),
    "a phrase over a line break": (letter(body="the quarterly\r\nreport"), Field.BODY, "quarterly report"),
    "base64": (letter(BASE64, body=b64("Grüße aus Köln".encode())), Field.BODY, "grüße aus köln"),
    "gb18030": (
        letter(BASE64, content_type="text/plain; charset=gb2312", body=b64("会议通知".encode("gb18030"))),
        Field.BODY,
        "会议",
    ),
    "sharp s": (letter(body="Straße"), Field.BODY, "STRASSE"),
    "dotless folding": (letter(body="ΣΊΣΥΦΟΣ"), Field.BODY, "σίσυφος"),
    "full width": (letter(body="ＩＮＶＯＩＣＥ"), Field.BODY, "invoice"),
    "zero width inside": (letter(body="in\u200bvoi\u00adce"), Field.BODY, "invoice"),
    "HTML": (html_letter("<p>the <b>quar</b>terly&nbsp;report"), Field.BODY, "quarterly report"),
    "HTML beside a plain text": (
        several(TEXT, b"Content-Type: text/html\r\n\r\n<p>only here", subtype="alternative"),
        Field.BODY,
        "only here",
    ),
    "format=flowed": (
        letter(content_type="text/plain; format=flowed", body="the quarterly \r\nreport"),
        Field.BODY,
        "quarterly report",
    ),
    "format=flowed, delsp": (
        letter(content_type="text/plain; format=flowed; delsp=yes", body="the quarter \r\nly report"),
        Field.BODY,
        "quarterly report",
    ),
    "an encoded subject": (
        letter("Subject: =?utf-8?Q?R=C3=A9union_=C3=A0?= =?utf-8?B?IFBhcmlz?="),
        Field.SUBJECT,
        "réunion à paris",
    ),
    "an encoded name": (letter("From: =?utf-8?Q?J=C3=BCrgen_M?= <j@x.test>"), Field.FROM, "jürgen m"),
    "a participant": (letter("Cc: Anna <anna@x.test>"), Field.PARTICIPANT, "ANNA@"),
    "all of it": (letter(body="xyzzy"), Field.TEXT, "xyzzy"),
}


@pytest.mark.parametrize(("raw", "field", "text"), FOUND.values(), ids=FOUND.keys())
def test_decoded_text_is_found(raw: bytes, field: Field, text: str) -> None:
    known = candidate(raw, envelope(raw, handle=HANDLE))
    assert matches(Contains(field, text), known) is True
    assert matches(Contains(field, "nowhere to be found"), known) is False


def test_hidden_text_is_not_found() -> None:
    raw = html_letter("<p>seen<p style='display:none'>unseen")
    assert matches(Contains(Field.BODY, "unseen"), candidate(raw, envelope(raw, handle=HANDLE))) is False


def test_headers_ids_and_attachments_answer() -> None:
    raw = several(TEXT, file("attachment; filename=a")).replace(
        b"Subject:", b"Message-ID: <m@x>\r\nX-Tag: =?utf-8?Q?=C3=9C?=\r\nSubject:"
    )
    known = candidate(raw, envelope(raw, handle=HANDLE))
    assert matches(HeaderContains("x-tag", "ü"), known) is True
    assert matches(HeaderContains("x-none", ""), known) is False
    assert matches(MessageId("<m@x>"), known) is True
    assert matches(HasAttachment(), known) is True


def test_an_envelope_alone_leaves_the_body_open() -> None:
    known = of_envelope(envelope(letter(), handle=HANDLE))
    assert matches(Contains(Field.SUBJECT, "s1"), known) is True
    assert matches(Contains(Field.BODY, "hello"), known) is None
    assert matches(HeaderContains("X", ""), known) is None


def test_a_body_is_known_only_when_every_part_of_it_was_fetched() -> None:
    raw = several(TEXT, b"Content-Type: text/html\r\n\r\n<p>only here", subtype="alternative")
    found = outline(raw)
    chosen = readable(found.root)
    assert body_text(chosen, {"1": (b"hello", True)}) is None
    assert body_text(chosen, {"1": (b"hello", True), "2": (b"<p>only", False)}) == "hello\nonly"
