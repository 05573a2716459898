"""Messages for the contract tests, nasty ones among them."""

from __future__ import annotations

import base64
import quopri


def letter(
    subject: str = "Hello",
    *,
    sender: str = "Anna Berg <anna@example.org>",
    to: str = "Me <me@example.org>",
    body: str = "Good day.",
    number: int = 0,
    extra: str = "",
) -> bytes:
    """A plain message."""
    head = f"From: {sender}\nTo: {to}\nSubject: {subject}\nMessage-ID: <m{number}@example.org>\n{extra}"
    return (
        f"{head}Date: Sun, 01 Mar 2026 12:00:00 +0000\nMIME-Version: 1.0\n"
        f"Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{body}\n"
    ).encode()


def encoded(body: bytes, *, charset: str, encoding: str, kind: str = "plain") -> bytes:
    """A message whose body is in a charset and a transfer encoding."""
    wrapped = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring}[encoding](body)
    head = (
        "From: Anna <anna@example.org>\nTo: Me <me@example.org>\nSubject: Encoded\nMessage-ID: <e@example.org>\n"
        "Date: Sun, 01 Mar 2026 12:00:00 +0000\nMIME-Version: 1.0\n"
        f"Content-Type: text/{kind}; charset={charset}\nContent-Transfer-Encoding: {encoding}\n\n"
    )
    return head.encode() + wrapped


def with_attachment(octets: bytes, *, body: str = "See the file.", name: str = "report.bin") -> bytes:
    """A message with one attachment."""
    return (
        (
            "From: Anna <anna@example.org>\nTo: Me <me@example.org>\nSubject: With a file\nMessage-ID: <a@example.org>\n"
            "Date: Sun, 01 Mar 2026 12:00:00 +0000\nMIME-Version: 1.0\n"
            'Content-Type: multipart/mixed; boundary="b1"\n\n--b1\nContent-Type: text/plain; charset=utf-8\n\n'
            f"{body}\n--b1\nContent-Type: application/octet-stream\n"
            f'Content-Disposition: attachment; filename="{name}"\nContent-Transfer-Encoding: base64\n\n'
        ).encode()
        + base64.encodebytes(octets)
        + b"--b1--\n"
    )
