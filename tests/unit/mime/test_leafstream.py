"""A message taken apart while it streams is taken apart as it is when read whole, and what is not whole is noticed."""

from __future__ import annotations

from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_proton.mime.structure import outline
from mcp_proton.mime.structure.leafstream import LeafReader

if TYPE_CHECKING:
    from mcp_proton.mime.header.headers import Headers
    from mcp_proton.mime.header.parameters import Parametrised


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""a busy machine is no fault"""


class Kept:
    """The body of a leaf."""

    def __init__(self) -> None:
        self.body = b""
        self.ended = False

    def write(self, piece: bytes) -> None:
        assert not self.ended
        self.body += piece

    def end(self) -> None:
        self.ended = True


def taken_apart(raw: bytes, size: int = 65_536) -> tuple[list[tuple[str, bytes]], str | None]:
    found: list[tuple[str, Kept]] = []

    def leaf(_: Headers, kind: Parametrised) -> Kept:
        found.append((kind.value, Kept()))
        return found[-1][1]

    reader = LeafReader(leaf)
    for start in range(0, len(raw), size):
        reader.feed(raw[start : start + size])
    reader.finish()
    assert all(kept.ended for _, kept in found)
    return [(kind, kept.body) for kind, kept in found], reader.damaged


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    """Texts, HTML beside them, files below."""
    message = EmailMessage()
    message["Subject"] = "s"
    words = st.text("ab-\n .é", max_size=60)
    message.set_content(draw(words))
    if draw(st.booleans()):
        message.add_alternative(f"<p>{draw(words)}</p>", subtype="html")
    for number in range(draw(st.integers(0, 3))):
        message.add_attachment(draw(st.binary(max_size=200)), "application", "octet-stream", filename=f"{number}")
    for number, part in enumerate(message.walk()):
        if part.is_multipart():
            part.set_boundary(f"b{number}")  # else the library draws one by chance
    return message.as_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


@UNHURRIED
@given(messages(), st.integers(1, 50))
def test_the_leaves_are_those_of_the_outline(raw: bytes, size: int) -> None:
    root = outline.outline(raw).root
    parts = [part for part in root.walk() if not part.children]
    wanted = [(part.media_type, outline.section(raw, part.path or "TEXT") or b"") for part in parts]
    assert taken_apart(raw, size) == (wanted, None)


PART = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n"


@pytest.mark.parametrize(
    ("raw", "damaged"),
    [
        (PART + b"--b--\r\n", None),
        (PART, "unclosed"),
        (PART + b"--b--", None),
        (b"Content-Type: multipart/mixed\r\n\r\nx", "boundary"),
        (b"no header line\r\nSubject: s\r\n\r\nx", "header"),
        (
            (
                b"Content-Type: multipart/mixed; boundary=o\r\n\r\n--o\r\n"
                b"Content-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\n\r\nx\r\n--o--\r\n"
            ),
            "unclosed",
        ),
        (b"Content-Type: message/rfc822\r\n\r\n" + PART, None),
        (b"Subject: s\r\n", None),
        (b"", None),
    ],
)
def test_what_is_not_whole_is_named_but_within_an_attached_message(raw: bytes, damaged: str | None) -> None:
    assert taken_apart(raw)[1] == damaged


def test_nesting_without_end_is_held_back() -> None:
    raw = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(3_000))
    assert taken_apart(raw)[1] in {"depth", "unclosed"}
