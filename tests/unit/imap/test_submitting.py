"""Handing mail over by SMTP: what left, what surely did not, and what nobody knows (P-92, A-43)."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import AuthFailed, Unavailable, Unsupported, Untrusted
from mcp_proton.domain.outgoing import Delivery
from mcp_proton.imap.limits import SubmissionTiming
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.submission.outlet import Outlet
from mcp_proton.imap.submission.submit import Submitting
from mcp_proton.simulator import make_certificate
from mcp_proton.testing import MemoryOctets
from tests.contract.letters_out import mail
from tests.servers.smtp_sink import SmtpSink

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.domain.outgoing import Submission

CERTIFICATE = make_certificate()
OTHER = make_certificate()
ME = "alice@example.org"


def outlet(sink: SmtpSink, **changes: object) -> Outlet:
    async def password() -> str:
        return str(changes.get("tried", sink.password))

    certificate = OTHER if changes.get("other_certificate") else CERTIFICATE
    pin = Pin.of(ssl.PEM_cert_to_DER_cert(certificate.pem))
    endpoint = Endpoint("127.0.0.1", sink.port, TlsMode.STARTTLS, pin)
    timing = SubmissionTiming(end=float(str(changes.get("end", 600))))
    return Outlet(endpoint, Credentials(sink.username, password), timing=timing)


@asynccontextmanager
async def submitting(**changes: object) -> AsyncIterator[tuple[SmtpSink, Submitting]]:
    settings = {name: changes.pop(name) for name in list(changes) if name in SmtpSink.__dataclass_fields__}
    async with SmtpSink(CERTIFICATE, **settings) as sink:  # type: ignore[arg-type]
        yield sink, Submitting(outlet(sink, **changes))


def fates(told: Submission) -> list[tuple[str, bool, int]]:
    return [(one.recipient, one.accepted, one.code) for one in told.recipients]


async def test_the_text_arrives_octet_for_octet_whatever_its_dots() -> None:
    text = mail(ME, body=".\r\n..\r\n.x\r\n\r\n.\r\nend\r\n")
    async with submitting() as (sink, sender):
        told = await sender.submit(ME, ["bob@example.net"], text)
    assert told.delivery is Delivery.ACCEPTED
    assert [(one.sender, one.recipients, one.text) for one in sink.stored] == [(ME, ["bob@example.net"], text.raw)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
async def test_dots_are_doubled_across_the_borders_of_chunks(size: int) -> None:
    class Chopped(MemoryOctets):
        async def chunks(self) -> AsyncIterator[bytes]:
            for start in range(0, len(self.raw), size):
                yield self.raw[start : start + size]

    text = mail(ME, body="a\r\n.\r\n..\r\n\r\n.b\r\n")
    async with submitting() as (sink, sender):
        assert (await sender.submit(ME, ["bob@example.net"], Chopped(text.raw))).delivery is Delivery.ACCEPTED
    assert sink.stored[0].text == text.raw


async def test_every_recipient_has_a_fate_of_its_own() -> None:
    """P-92: what was accepted is recorded one by one."""
    people = ["bob@example.net", "reject@example.net", "later@example.net"]
    async with submitting() as (sink, sender):
        told = await sender.submit(ME, people, mail(ME))
    assert told.delivery is Delivery.ACCEPTED
    assert fates(told) == [(people[0], True, 250), (people[1], False, 550), (people[2], False, 451)]
    assert sink.stored[0].recipients == people[:1]


async def test_a_mail_that_nobody_is_to_get_is_not_sent() -> None:
    async with submitting() as (sink, sender):
        told = await sender.submit(ME, ["reject@example.net"], mail(ME))
    assert (told.delivery, told.code, sink.stored) == (Delivery.NOT_SENT, "recipients_refused", [])
    assert "DATA" not in sink.said


async def test_a_refusal_after_the_text_is_a_no() -> None:
    async with submitting() as (sink, sender):
        told = await sender.submit(ME, ["full@example.net"], mail(ME))
    assert (told.delivery, told.code, sink.stored) == (Delivery.NOT_SENT, "refused_by_server", [])


@pytest.mark.parametrize("fault", ["lost", "babble", "endless"])
async def test_an_answer_that_is_lost_after_the_mail_was_stored_leaves_it_unknown(fault: str) -> None:
    """P-92: never a no, which somebody would repeat."""
    async with submitting() as (sink, sender):
        told = await sender.submit(ME, [f"{fault}@example.net"], mail(ME))
    assert told.delivery is Delivery.UNKNOWN
    assert len(sink.stored) == 1


async def test_where_smtplib_is_told_of_a_lost_connection_and_sends_again_ours_sends_once() -> None:
    """The naive client: an exception is taken for a no."""
    text = mail(ME)
    async with submitting() as (sink, sender):

        def naive() -> None:
            for _ in range(2):
                try:
                    with smtplib.SMTP("127.0.0.1", sink.port) as client:
                        client.starttls(context=ssl._create_unverified_context())
                        client.login(sink.username, sink.password)
                        client.sendmail(ME, ["lost@example.net"], text.raw)
                except smtplib.SMTPServerDisconnected:
                    continue

        await asyncio.to_thread(naive)
        assert len(sink.stored) == 2
        sink.stored.clear()
        assert (await sender.submit(ME, ["lost@example.net"], text)).delivery is Delivery.UNKNOWN
        assert len(sink.stored) == 1


async def test_silence_after_the_final_dot_leaves_it_unknown() -> None:
    async with submitting(end=0.05) as (_, sender):
        told = await sender.submit(ME, ["silent@example.net"], mail(ME))
    assert told.delivery is Delivery.UNKNOWN


async def test_who_gives_up_after_the_final_dot_is_told_that_nobody_knows() -> None:
    async with submitting() as (sink, sender):
        task = asyncio.create_task(sender.submit(ME, ["silent@example.net"], mail(ME)))
        while not sink.stored:
            await asyncio.sleep(0)
        task.cancel()
        assert (await task).delivery is Delivery.UNKNOWN


async def test_who_gives_up_before_the_final_dot_has_sent_nothing() -> None:
    reached = asyncio.Event()

    class Endless(MemoryOctets):
        async def chunks(self) -> AsyncIterator[bytes]:
            yield self.raw
            if asked.is_set():
                reached.set()
                await asyncio.Event().wait()
            asked.set()

    asked = asyncio.Event()
    async with submitting() as (sink, sender):
        task = asyncio.create_task(sender.submit(ME, ["bob@example.net"], Endless(mail(ME).raw)))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await sender.submit(ME, ["bob@example.net"], mail(ME, subject="next"))).delivery is Delivery.ACCEPTED
    assert [b"next" in one.text for one in sink.stored] == [True]


async def test_a_server_that_refuses_in_the_middle_of_the_text_is_heard() -> None:
    text = mail(ME, body="x" * 70 + "\r\n" + ("y" * 76 + "\r\n") * 200_000)
    async with submitting() as (sink, sender):
        told = await sender.submit(ME, ["early@example.net"], text)
    assert (told.delivery, sink.stored) == (Delivery.NOT_SENT, [])


async def test_a_connection_lost_before_the_text_sends_nothing_and_may_be_tried_again() -> None:
    async with submitting() as (sink, sender):
        with pytest.raises(Unavailable):
            await sender.submit(ME, ["hangup@example.net"], mail(ME))
    assert sink.stored == []


async def test_a_server_that_says_more_than_it_is_asked_is_not_believed() -> None:
    """Replies out of step: the second 250 would be the answer to DATA, and that to the mail."""
    async with submitting() as (sink, sender):
        with pytest.raises(Unavailable):
            await sender.submit(ME, ["chatty@example.net"], mail(ME))
    assert sink.stored == []


async def test_what_is_said_in_plain_text_behind_the_go_ahead_for_tls_ends_it() -> None:
    """CVE-2011-0411 and its kind."""
    async with submitting(after_starttls=b"250-evil\r\n250 AUTH PLAIN\r\n") as (sink, sender):
        with pytest.raises(Unavailable):
            await sender.submit(ME, ["bob@example.net"], mail(ME))
    assert not [line for line in sink.said if line.startswith("AUTH")]


async def test_another_certificate_than_the_pinned_one_gets_no_password() -> None:
    async with submitting(other_certificate=True) as (sink, sender):
        with pytest.raises(Untrusted):
            await sender.submit(ME, ["bob@example.net"], mail(ME))
    assert not [line for line in sink.said if line.startswith(("AUTH", "MAIL"))]


async def test_a_server_without_tls_gets_no_password() -> None:
    async with submitting(offers_tls=False) as (sink, sender):
        with pytest.raises(Untrusted):
            await sender.submit(ME, ["bob@example.net"], mail(ME))
    assert not [line for line in sink.said if line.startswith("AUTH")]


async def test_a_wrong_password_is_told_and_one_that_is_right_later_is_not() -> None:
    async with submitting(tried="wrong") as (_, sender):
        with pytest.raises(AuthFailed):
            await sender.submit(ME, ["bob@example.net"], mail(ME))
    async with submitting(tried="wrong", login_refusal="454 4.7.0 later") as (_, sender):
        with pytest.raises(Unavailable) as raised:
            await sender.submit(ME, ["bob@example.net"], mail(ME))
    assert raised.value.code == "login_unavailable"


async def test_login_is_used_where_plain_is_not_offered_and_without_either_it_says_so() -> None:
    async with submitting(extensions=("AUTH LOGIN",)) as (sink, sender):
        assert (await sender.submit(ME, ["bob@example.net"], mail(ME))).delivery is Delivery.ACCEPTED
        assert "AUTH LOGIN" in sink.said
    async with submitting(extensions=("AUTH GSSAPI",)) as (_, sender):
        with pytest.raises(Unsupported):
            await sender.check_login()


async def test_a_check_of_the_login_sends_nothing() -> None:
    async with submitting() as (sink, sender):
        await sender.check_login()
    assert not [line for line in sink.said if line.startswith("MAIL")]


async def test_a_mail_over_the_size_the_server_names_is_refused_with_the_limit_before_the_text() -> None:
    async with submitting(extensions=("SIZE 300", "AUTH PLAIN")) as (sink, sender):
        told = await sender.submit(ME, ["bob@example.net"], mail(ME, body="x" * 400 + "\r\n"))
        assert await sender.limit() == 300
    assert (told.delivery, told.code) == (Delivery.NOT_SENT, "too_large")
    assert "300" in str(told.why)
    assert not [line for line in sink.said if line.startswith("MAIL")]


async def test_only_what_is_offered_and_needed_is_asked_of_the_server() -> None:
    """P-60: 8BITMIME and SMTPUTF8."""
    eight_bit, utf8 = mail(ME, body="schön\r\n"), "jürgen@example.net"
    async with submitting() as (sink, sender):
        await sender.submit(ME, ["bob@example.net"], mail(ME))
        await sender.submit(ME, ["bob@example.net"], eight_bit)
        await sender.submit(ME, [utf8], mail(ME))
    said = [one.parameters.split()[1:] for one in sink.stored]
    assert said == [[], ["BODY=8BITMIME"], ["SMTPUTF8"]]
    async with submitting(extensions=("AUTH PLAIN",)) as (sink, sender):
        told = [
            (await sender.submit(ME, to, text)).code
            for to, text in (([utf8], mail(ME)), (["b@example.net"], eight_bit))
        ]
    assert told == ["utf8_address_unsupported", "eight_bit_unsupported"]
    assert sink.stored == []


@pytest.mark.parametrize(
    "body",
    ["a\n.\nRSET\n", "a\r.\rb\r\n", "a\r\n.\n", "nul\0\r\n", "x" * 999 + "\r\n", "ends in CR\r"],
    ids=["bare LF", "bare CR", "dot and LF", "NUL", "long line", "open end"],
)
async def test_a_text_that_could_end_early_or_hide_commands_is_not_sent(body: str) -> None:
    async with submitting() as (sink, sender):
        told = await sender.submit(ME, ["bob@example.net"], mail(ME, body=body))
    assert (told.delivery, told.code) == (Delivery.NOT_SENT, "malformed_message")
    assert sink.connections == 0


@pytest.mark.parametrize(
    "address",
    [
        "b@x>\r\nRCPT TO:<evil@example.net",
        "a@b> NOTIFY=NEVER",
        "bob",
        "",
        "a b@example.net",
        '"a b"@example.net',
        "b@example.net\n",
        f"{'x' * 65}@example.net",
        "b\u200b@example.net",
        "@example.net",
        "b@-example.net",
    ],
)
async def test_no_address_can_become_another_command(address: str) -> None:
    async with submitting() as (sink, sender):
        for people, who in (([address], ME), (["bob@example.net"], address)):
            assert (await sender.submit(who, people, mail(ME))).code == "invalid_address"
    assert sink.connections == 0


@pytest.mark.parametrize("local", ["postmaster", "No-Reply", "noreply+x", "webmaster"])
async def test_an_address_of_an_office_is_no_sender_unless_it_was_configured(local: str) -> None:
    """J-137."""
    address = f"{local}@example.org"
    async with SmtpSink(CERTIFICATE) as sink:
        where = outlet(sink)
        told = await Submitting(where).submit(address, ["bob@example.net"], mail(address))
        assert (told.delivery, told.code) == (Delivery.NOT_SENT, "role_sender")
        configured = Outlet(where.endpoint, where.credentials, frozenset({address.lower()}))
        told = await Submitting(configured).submit(address, ["bob@example.net"], mail(address))
        assert told.delivery is Delivery.ACCEPTED
