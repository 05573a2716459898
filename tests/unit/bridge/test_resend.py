"""The key of a repeat is Bridge's own: two mails have one key here exactly where Bridge takes them for one (B-04)."""

from __future__ import annotations

import asyncio
import base64
import quopri
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_proton.bridge.handing_over import resend
from mcp_proton.simulator.texts.content_key import UnreadableTextError, content_key
from mcp_proton.testing import MemoryOctets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""a busy machine is no fault"""


class Chopped(MemoryOctets):
    """Octets in pieces of a size."""

    def __init__(self, raw: bytes, size: int) -> None:
        super().__init__(raw)
        self._size = size

    async def chunks(self) -> AsyncIterator[bytes]:
        for start in range(0, len(self.raw), self._size):
            yield self.raw[start : start + self._size]


def ours(raw: bytes, size: int = 65_536) -> str:
    return asyncio.run(resend.read(Chopped(raw, size))).key


WORDS = st.sampled_from(
    ["", "a", "hello", "ünü", "two  words", " lead", "trail ", "\r\n", "line\r\nline", "=3D", "--b"]
)
TEXTS = st.lists(WORDS, max_size=4).map("".join)


@st.composite
def leaves(draw: st.DrawFn) -> bytes:
    """A part: of some type, encoded in some way, with something in it."""
    kind = draw(
        st.sampled_from(["", "text/plain", "text/plain; charset=utf-8", "TEXT/HTML", "application/pdf; name=a"])
    )
    encoding = draw(st.sampled_from(["", "7bit", "base64", "quoted-printable"]))
    disposition = draw(st.sampled_from(["", "attachment", "attachment; filename=a"]))
    text = draw(TEXTS).encode()
    if encoding == "base64":
        text = base64.encodebytes(text).replace(b"\n", b"\r\n")
    elif encoding == "quoted-printable":
        text = quopri.encodestring(text.replace(b"\r\n", b"\n")).replace(b"\n", b"\r\n")
    fields = [("Content-Type", kind), ("Content-Transfer-Encoding", encoding), ("Content-Disposition", disposition)]
    return b"".join(f"{name}: {value}\r\n".encode() for name, value in fields if value) + b"\r\n" + text


@st.composite
def mails(draw: st.DrawFn) -> bytes:
    """A mail of one part or of several, with headers that count and headers that do not."""
    head = [
        f"Message-ID: <{draw(st.integers(0, 1))}@x>",
        f"From: {draw(st.sampled_from(['a@b.c', 'A <a@b.c>', 'x@b.c']))}",
        f"To: {draw(st.sampled_from(['b@c.d', 'B <b@c.d>, c@d.e']))}",
        f"Subject: {draw(st.sampled_from(['s', 't', '=?utf-8?q?s?=']))}",
        f"Date: {draw(st.integers(0, 1))}",
        *draw(
            st.sampled_from([[], ["Reply-To: r@x.y"], ["In-Reply-To: <1@x>"], ["References: <1@x>"], ["Bcc: z@x.y"]])
        ),
    ]
    start = "\r\n".join(head).encode() + b"\r\n"
    parts = draw(st.lists(leaves(), min_size=1, max_size=3))
    if len(parts) == 1:
        return start + parts[0]
    boundary = draw(st.sampled_from([b"b1", b"b2"]))
    return b"".join(
        [
            start,
            b'Content-Type: multipart/mixed; boundary="' + boundary + b'"\r\n\r\n',
            draw(st.sampled_from([b"", b"preamble\r\n"])),
            *(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts),
            b"--" + boundary + b"--\r\n",
            draw(st.sampled_from([b"", b"epilogue\r\n"])),
        ]
    )


@UNHURRIED
@given(mails(), mails())
def test_two_mails_have_one_key_exactly_where_bridge_takes_them_for_one(one: bytes, other: bytes) -> None:
    try:
        same = content_key(one) == content_key(other)
    except UnreadableTextError:
        return
    assert (ours(one) == ours(other)) is same


@UNHURRIED
@given(mails(), st.integers(0, 3))
def test_what_does_not_count_for_bridge_does_not_count_here(mail: bytes, which: int) -> None:
    changed = [
        mail.replace(b"Message-ID: <0@x>", b"Message-ID: <new@x>"),
        mail.replace(b"Date: 0", b"Date: tomorrow"),
        mail.replace(b"b1", b"b3"),
        mail.replace(b"\r\n\r\n", b"\r\nX-Other: 1\r\n\r\n", 1),
    ][which]
    try:
        same = content_key(mail) == content_key(changed)
    except UnreadableTextError:
        return
    assert (ours(mail) == ours(changed)) is same


@UNHURRIED
@given(mails(), st.integers(1, 40))
def test_the_key_does_not_depend_on_how_the_octets_come(mail: bytes, size: int) -> None:
    assert ours(mail, size) == ours(mail)


def test_recipients_are_a_set_in_which_each_counts_as_often_as_named() -> None:
    content = asyncio.run(resend.read(MemoryOctets(b"From: a@b.c\r\n\r\nx")))
    key = resend.key_for(content, ["b@x", "c@x"])
    assert resend.key_for(content, ["c@x", "b@x"]) == key
    assert resend.key_for(content, ["b@x", "c@x", "c@x"]) != key
    assert resend.key_for(content, ["B@x", "c@x"]) != key


def test_a_part_of_nothing_but_white_space_costs_no_more_than_its_size() -> None:
    text = b"From: a@b.c\r\n\r\n" + b" \r\n" * 400_000
    assert ours(text, 4_096) == ours(b"From: a@b.c\r\n\r\n")


def test_an_attached_message_counts_by_its_parts_and_its_faults_are_its_own() -> None:
    inner = b"Subject: inner\r\nContent-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\n\r\none\r\n"
    outer = (
        b"From: a@b.c\r\nContent-Type: multipart/mixed; boundary=o\r\n\r\n--o\r\n\r\ntext\r\n--o\r\n"
        b"Content-Type: message/rfc822\r\n\r\n" + inner + b"\r\n--o--\r\n"
    )
    other = outer.replace(b"one", b"two")
    read = asyncio.run(resend.read(MemoryOctets(outer)))
    assert read.damaged is None
    assert (ours(outer) == ours(other)) is (content_key(outer) == content_key(other))
