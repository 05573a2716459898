"""Whether a message is the one that left (A-40, N-6)."""

from __future__ import annotations

import hashlib

import pytest

from mcp_proton.mime.receipts import digests

SENT = b"From: a@b.example\r\nTo: c@d.example\r\nSubject: x\r\n y\r\n\r\nHello\r\n\r\nBcc: in the body\r\n"
DIGEST = hashlib.sha256(SENT).hexdigest()


@pytest.mark.parametrize(
    "raw",
    [
        SENT,
        SENT.replace(b"\r\n", b"\n"),
        SENT.replace(b"\r\n", b"\r"),
        b"Return-Path: <a@b.example>\r\nReceived: from x\r\n\tby y; date\r\n" + SENT,
        SENT.replace(b"Subject", b"Bcc: e@f.example,\r\n g@h.example\r\nSubject"),
    ],
    ids=["as it left", "line feeds", "carriage returns", "trace fields", "the owner's copy with Bcc"],
)
def test_the_mail_is_known_again_whatever_was_put_to_it(raw: bytes) -> None:
    assert DIGEST in digests(raw)


@pytest.mark.parametrize("at", range(0, len(SENT), 7))
def test_one_octet_of_difference_is_another_mail(at: int) -> None:
    changed = SENT[:at] + bytes([SENT[at] ^ 1]) + SENT[at + 1 :]
    assert DIGEST not in digests(changed)


def test_a_field_that_was_put_in_makes_another_mail() -> None:
    assert DIGEST not in digests(SENT.replace(b"Subject", b"Cc: e@f.example\r\nSubject"))
