"""MIME that real mailboxes hold and parsers trip over."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.simulator.correspondence.letter import File, Letter

if TYPE_CHECKING:
    import random


def twisted(letter: Letter, luck: random.Random) -> Letter:
    """The letter in one of the shapes that aren't quite right."""
    match luck.randrange(7):
        case 0:
            return replace(
                letter, files=(File("winmail.dat", "application/ms-tnef", b"\x78\x9f\x3e\x22" + luck.randbytes(60)),)
            )
        case 1:
            author = letter.sender.rpartition("<")[2].rstrip(">")
            inner = f"From: {author}\r\nSubject: inner\r\n\r\nInner text\r\n".encode()
            return replace(letter, files=(File("forwarded.eml", "message/rfc822", inner),))
        case 2:
            return replace(letter, without=frozenset({"Date"}))
        case 3:
            source = b"\r\nSent from a device\r\n"
            missing = frozenset({"MIME-Version", "Message-ID"})
            return replace(letter, sender="device@printer.example", subject="Status", source=source, without=missing)
        case 4:
            return replace(letter, source=b"Content-Type: text/plain; charset=x-unheard-of\r\n\r\nCaf\xe9 at nine?\r\n")
        case 5:
            broken = (
                b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nSGVsbG8h*IQ=\r\n"
            )
            return replace(letter, source=broken)
        case _:
            page = f"<html><body><p>{letter.subject}</p></body></html>"
            return replace(letter, text=letter.text or "words\n", html=page, files=())
