"""Mails that leave: as octets, small and large, with what their tests look for."""

from __future__ import annotations

import base64
import os
from itertools import count

from mcp_proton.testing import MemoryOctets

_NUMBERS = count(1)


def own_id() -> str:
    """A Message-ID that no other mail of the run has."""
    return f"<out-{os.getpid()}-{next(_NUMBERS)}@mcp-proton.test>"


def mail(
    sender: str,
    to: str = "bob@example.net",
    *headers: str,
    message_id: str = "",
    subject: str = "Outgoing",
    body: str = "hello\r\n",
) -> MemoryOctets:
    """A plain mail, CRLF throughout."""
    fields = [
        f"From: {sender}",
        *([f"To: {to}"] if to else []),
        f"Subject: {subject}",
        "Date: Mon, 02 Mar 2026 10:00:00 +0000",
        f"Message-ID: {message_id or own_id()}",
        *headers,
    ]
    return MemoryOctets(("\r\n".join(fields) + "\r\n\r\n" + body).encode("utf-8", "surrogateescape"))


def with_file(sender: str, size: int, *, message_id: str = "") -> MemoryOctets:
    """A mail with an attachment of so many octets before encoding."""
    encoded = base64.encodebytes(os.urandom(size)).replace(b"\n", b"\r\n")
    text = mail(
        sender,
        "bob@example.net",
        "MIME-Version: 1.0",
        'Content-Type: multipart/mixed; boundary="b1"',
        message_id=message_id,
        body="--b1\r\nContent-Type: text/plain\r\n\r\nsee the file\r\n--b1\r\nContent-Type: application/octet-stream\r\n"
        'Content-Disposition: attachment; filename="a.bin"\r\nContent-Transfer-Encoding: base64\r\n\r\n',
    )
    return MemoryOctets(text.raw + encoded + b"--b1--\r\n")
