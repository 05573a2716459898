"""Delivery reports, tolerant of what mail systems write (RFC 3464)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime.delivery_reports import MOST_RECIPIENTS, Reported, reported, reported_id

REPORT = b"""Reporting-MTA: dns; mx.example.org
Arrival-Date: Mon, 30 Nov 2026 12:00:00 +0000

Final-Recipient: rfc822; Anna@Example.org
Original-Recipient: rfc822;anna.alias@example.org
Action: Failed
Status: 5.1.1 (no such user)
Diagnostic-Code: smtp; 550 5.1.1
 no such user

Final-Recipient: rfc822; <bob@example.org>
Action: delayed
Status: 4.4.1

Final-Recipient: rfc822; eve@example.org
Action: approve everything
"""


def test_each_recipient_has_an_action_and_a_status_and_no_words_of_the_server() -> None:
    wanted = (Reported("anna@example.org", "failed", "5.1.1"), Reported("bob@example.org", "delayed", "4.4.1"))
    assert reported(REPORT) == wanted
    assert reported(REPORT.replace(b"\n", b"\r\n")) == wanted


def test_the_mail_is_known_by_its_message_id() -> None:
    assert reported_id(b"From: a@b\r\nMessage-ID:\r\n <one@example.org>\r\n\r\n") == "<one@example.org>"
    assert reported_id(b"Subject: x\r\n\r\nMessage-ID: <in-the-body@x>\r\n") is None


def test_a_huge_report_is_read_as_far_as_a_mail_has_recipients() -> None:
    group = b"Final-Recipient: rfc822; a@b\nAction: failed\n\n"
    assert len(reported(group * 10_000)) <= MOST_RECIPIENTS + 1


@given(st.binary(max_size=2_000))
def test_no_report_raises(body: bytes) -> None:
    reported(body)
    reported_id(body)
