"""What SMTP says: greeting, login, commands, lines and dots. Recordings show the rest."""

from __future__ import annotations

import asyncio

import pytest

from mcp_proton.simulator import Certificate, GivenUser, Simulator, WoundClock
from tests.simulator.smtp_client import CLOSED, SmtpClient, letter, trusting, wire

USERS = [GivenUser("alice", ["alice@proton.local", "alias@proton.local"]), GivenUser("bob", ["bob@proton.local"])]


@pytest.fixture
async def sim(certificate: Certificate):
    async with Simulator(users=USERS, certificate=certificate, clock=WoundClock()) as simulator:
        yield simulator


async def test_starttls_and_implicit_tls_both_serve_the_pinned_certificate(certificate: Certificate) -> None:
    async with Simulator(certificate=certificate) as sim, SmtpClient(sim, log_in=False) as client:
        await client.start_tls()
        assert "250-STARTTLS" not in await client("EHLO c")
        assert await client("STARTTLS") == ["502 5.5.1 Already running in TLS"]
    async with (
        Simulator(certificate=certificate, smtp_implicit_tls=True) as sim,
        SmtpClient(sim, implicit_tls=True) as client,
    ):
        assert client.greeting == ["220 127.0.0.1 ESMTP Service Ready"]
        assert await client("STARTTLS") == ["502 5.5.1 Already running in TLS"]


async def test_what_is_sent_in_clear_behind_starttls_is_not_obeyed(sim: Simulator) -> None:
    async with SmtpClient(sim, log_in=False) as client:
        await client("EHLO c")
        client.send(b"STARTTLS\r\nMAIL FROM:<alice@proton.local>\r\n")
        assert await client.reply() == ["220 2.0.0 Ready to start TLS"]
        await client.writer.start_tls(trusting(sim), server_hostname=sim.host)
        assert await client("RCPT TO:<ext@example.com>") == ["502 5.5.1 Missing MAIL FROM command."]


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("alice@proton.local", True),
        ("ALIAS@Proton.Local", True),
        ("alice", False),
        ("alice+tag@proton.local", False),
        ("off@proton.local", False),
        ("bob@proton.local", False),
    ],
)
async def test_a_login_is_an_enabled_address_of_the_account_in_any_case(
    name: str, is_taken: bool, sim: Simulator
) -> None:
    sim.account().addresses["off@proton.local"] = False
    sim.release_events()
    async with SmtpClient(sim, log_in=False) as client:
        await client("EHLO c")
        answer = await client.log_in(name)
        assert answer == (
            ["235 2.0.0 Authentication succeeded"] if is_taken else ["454 4.7.0 invalid username or password"]
        )


async def test_a_second_ehlo_loses_the_login_without_a_word_unless_switched_off(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        await client("EHLO again")
        assert await client.log_in() == ["503 5.5.1 Already authenticated"]
        assert await client.mail(letter("one")) == "554 5.0.0 Error: no such user"
    sim.settings.ehlo_signs_out = False
    async with SmtpClient(sim) as client:
        await client("EHLO again")
        assert await client.mail(letter("two")) == "250 2.0.0 OK: queued"
    assert [one.subject for one in sim.sent] == ["two"]


async def test_the_mechanisms_of_auth_come_in_any_order_unless_asked_otherwise(sim: Simulator) -> None:
    async with SmtpClient(sim, log_in=False) as client:
        seen = {(await client("EHLO c"))[-2] for _ in range(20)}
        assert seen == {"250-AUTH PLAIN LOGIN", "250-AUTH LOGIN PLAIN"}
        sim.settings.answers_in_order = True
        assert {(await client("EHLO c"))[-2] for _ in range(5)} == {"250-AUTH PLAIN LOGIN"}


async def test_commands_may_be_sent_ahead(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        client.send(b"MAIL FROM:<alice@proton.local>\r\nRCPT TO:<ext@example.com>\r\nDATA\r\n" + wire(letter("ahead")))
        assert [(await client.reply())[0][:3] for _ in range(4)] == ["250", "250", "354", "250"]
    assert [one.subject for one in sim.sent] == ["ahead"]


async def test_a_command_line_that_is_too_long_ends_the_connection(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        client.send(b"NOOP " + b"x" * 70_000)
        assert await client.reply() == ["500 5.4.0 Too long line, closing connection"]
        assert await client.reply() == [CLOSED]


async def test_a_line_of_a_mail_that_is_too_long_fails_the_mail_and_ends_the_connection(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        await client.begin("ext@example.com")
        client.send(wire(letter("long", "x" * 65_536)))
        assert await client.reply() == [
            "554 5.0.0 Error: failed to read message: smtp: too long a line in input stream"
        ]
        assert await client.reply() == ["500 5.4.0 Too long line, closing connection"]
        assert await client.reply() == [CLOSED]
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("just", "x" * 65_000)) == "250 2.0.0 OK: queued"
    assert [one.subject for one in sim.sent] == ["just"]


async def test_a_dot_between_bare_line_feeds_ends_a_mail_unless_switched_off(sim: Simulator) -> None:
    text = letter("dot", "before").replace(b"\n", b"\r\n") + b"more\n.\nNOOP\r\nlast\r\n.\r\n"
    async with SmtpClient(sim) as client:
        await client.begin("ext@example.com")
        client.send(text)
        assert await client.reply() == ["250 2.0.0 OK: queued"]
        assert await client.reply() == ["250 2.0.0 I have sucessfully done nothing"]
    assert sim.sent[0].body == b"before\r\nmore\r\n"
    sim.settings.bare_dot_ends_data = False
    async with SmtpClient(sim) as client:
        await client.begin("ext@example.com")
        client.send(text)
        assert await client.reply() == ["250 2.0.0 OK: queued"]
    assert sim.sent[1].body == b"before\r\nmore\r\n\r\nNOOP\r\nlast\r\n"


async def test_words_that_are_no_commands(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        assert await client("WORD up") == ["500 5.5.2 Syntax errors, WORD command unrecognized"]
        assert await client("NOOP ") == ["501 5.5.2 Bad command"]
        assert await client("turn") == ["502 5.5.1 TURN command not implemented"]
        assert await client("BDAT 1 2 3") == ["501 5.5.4 Too many arguments"]


async def test_an_auth_that_makes_no_sense_is_refused(sim: Simulator) -> None:
    async with SmtpClient(sim, log_in=False) as client:
        await client("EHLO c")
        assert await client("AUTH PLAIN bm9uc2Vuc2U=") == ["454 4.7.0 Invalid response"]
        assert await client("AUTH PLAIN YQBiAGM=") == ["454 4.7.0 Identities not supported"]
        assert await client("AUTH PLAIN !!") == ["454 4.7.0 Invalid base64 data"]


async def test_a_client_that_stands_still_in_its_mail_holds_up_logins_of_accounts_asked_later(sim: Simulator) -> None:
    async with SmtpClient(sim) as slow, SmtpClient(sim, log_in=False) as other, SmtpClient(sim, log_in=False) as same:
        await slow.begin("ext@example.com")
        slow.send(b"From: alice@proton.local\r\n")
        await other("EHLO c")
        await same("EHLO c")
        bob = asyncio.create_task(other.log_in("bob@proton.local", sim.user("bob").password))
        alice = asyncio.create_task(same.log_in())
        while sim.parked < 2:
            await asyncio.sleep(0)
        assert not bob.done()
        assert not alice.done()
        slow.writer.close()
        assert await bob == await alice == ["235 2.0.0 Authentication succeeded"]
    assert not sim.sent
    assert not sim.state()


async def test_a_restart_ends_smtp_connections_and_keeps_the_port(sim: Simulator) -> None:
    port = sim.smtp_port
    async with SmtpClient(sim) as client:
        await sim.restart()
        assert await client("NOOP") == [CLOSED]
    assert sim.smtp_port == port
    async with SmtpClient(sim) as client:
        assert await client("NOOP") == ["250 2.0.0 I have sucessfully done nothing"]
