"""The simulator as tests and demos use it: one port, accounts behind it, strings to pull."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import ssl

import pytest

from mcp_proton.simulator import Certificate, GivenLabel, GivenMessage, GivenUser, Simulator, WoundClock, lively_user
from tests.simulator.client import Client


def mail(subject: str, body: str = "Hello") -> bytes:
    return (
        f"From: Bob <bob@example.com>\nTo: alice@proton.local\nSubject: {subject}\n"
        f"Date: Mon, 02 Jan 2023 10:00:00 +0000\nMessage-ID: <{subject}@example.com>\n\n{body}\n"
    ).encode()


def uidvalidity(lines: list[str]) -> int:
    return int(re.search(r"UIDVALIDITY (\d+)", "\n".join(lines)).group(1))


async def test_a_client_that_pins_the_certificate_reads_mail_over_starttls(certificate: Certificate) -> None:
    """Greeting, STARTTLS, LOGIN, EXAMINE, FETCH."""
    async with (
        Simulator([GivenMessage(mail("one"))], certificate=certificate) as sim,
        Client(sim, tls=True) as client,
    ):
        assert "Proton Mail Bridge 03.21.01" in client.greeting
        assert "* 1 EXISTS" in await client("EXAMINE INBOX")
        fetched = await client("UID FETCH 1 (BODY.PEEK[HEADER.FIELDS (Subject)])")
        assert "Subject: one" in fetched


async def test_implicit_tls_serves_the_same_greeting(certificate: Certificate) -> None:
    async with Simulator(certificate=certificate, implicit_tls=True) as sim:
        context = ssl.create_default_context(cadata=sim.certificate_pem)
        context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
        reader, writer = await asyncio.open_connection(sim.host, sim.imap_port, ssl=context)
        assert (await reader.readline()).startswith(b"* OK [CAPABILITY ")
        writer.close()
        await writer.wait_closed()


async def test_a_tls_hello_on_the_plain_port_is_hung_up_on(certificate: Certificate) -> None:
    async with Simulator(certificate=certificate) as sim, Client(sim, log_in=False) as client:
        client.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert await client.line() == ""


async def test_new_mail_is_seen_when_events_are_released_and_not_before(certificate: Certificate) -> None:
    async with Simulator(certificate=certificate) as sim, Client(sim) as client:
        await client("SELECT INBOX")
        sim.deliver(mail("new"), key="new")
        assert await client("NOOP") != ["* 1 EXISTS", "* 1 RECENT"]
        sim.release_events()
        assert (await client("NOOP"))[:2] == ["* 1 EXISTS", "* 1 RECENT"]
        assert sim.state()["new"] == {
            "in": ["All Mail", "Inbox"],
            "flags": ["received"],
            "unread": True,
            "subject": "new",
        }


async def test_events_come_by_themselves_within_the_delay_of_the_clock(certificate: Certificate) -> None:
    clock = WoundClock()
    async with Simulator(certificate=certificate, clock=clock, event_delay=(20, 40)) as sim, Client(sim) as client:
        await client("SELECT INBOX")
        sim.deliver(mail("new"))
        await asyncio.sleep(0)
        clock.advance(19)
        assert len(await client("NOOP")) == 1
        clock.advance(21)
        assert "* 1 EXISTS" in await client("NOOP")


async def test_an_idle_client_is_told_after_half_a_second_of_the_clock(certificate: Certificate) -> None:
    clock = WoundClock()
    async with Simulator(certificate=certificate, clock=clock) as sim, Client(sim) as client:
        await client("SELECT INBOX")
        client.send(b"i IDLE\r\n")
        assert await client.line() == "+ Ready"
        sim.deliver(mail("new"))
        sim.release_events()
        while clock.next_wake is None:
            await asyncio.sleep(0)
        clock.advance(0.5)
        assert await client.line() == "* 1 EXISTS"
        client.send(b"DONE\r\n")
        assert [await client.line(), await client.line()] == ["* 1 RECENT", "i OK IDLE"]


async def test_a_restart_keeps_uids_and_a_rebuild_does_not(certificate: Certificate) -> None:
    """UIDVALIDITY changed, Bridge restarted."""
    async with Simulator([GivenMessage(mail("one"))], certificate=certificate) as sim:
        port = sim.imap_port
        async with Client(sim) as client:
            before = uidvalidity(await client("SELECT INBOX"))
            await sim.restart()
            assert await client("NOOP") == ["(connection closed)"]
        assert sim.imap_port == port
        async with Client(sim) as client:
            assert uidvalidity(await client("SELECT INBOX")) == before
            sim.rebuild_uidvalidity()
            # The open session notices nothing.
            assert (await client("UID SEARCH ALL"))[0] == "* SEARCH 1"
            assert uidvalidity(await client("SELECT INBOX")) > before


async def test_offline_the_port_refuses_and_online_it_is_the_same_bridge(certificate: Certificate) -> None:
    async with Simulator([GivenMessage(mail("one"))], certificate=certificate) as sim:
        async with Client(sim) as client:
            before = uidvalidity(await client("SELECT INBOX"))
            await sim.go_offline()
            assert await client("NOOP") == ["(connection closed)"]
        with pytest.raises(ConnectionError):
            await asyncio.open_connection(sim.host, sim.imap_port)
        sim.deliver(mail("meanwhile"))
        sim.release_events()
        await sim.go_online()
        async with Client(sim) as client:
            lines = await client("SELECT INBOX")
            assert uidvalidity(lines) == before
            assert "* 1 EXISTS" in lines
            sim.release_events()
            assert "* 2 EXISTS" in await client("NOOP")


async def test_the_first_sync_brings_the_newest_first_at_the_pace_asked_for(certificate: Certificate) -> None:
    clock = WoundClock()
    given = [GivenMessage(mail(f"m{number}")) for number in range(100)]
    async with Simulator(given, certificate=certificate, clock=clock, first_sync=64) as sim, Client(sim) as client:
        assert "* 0 EXISTS" in await client("SELECT INBOX")
        clock.advance(1)
        assert "* 64 EXISTS" in await client("NOOP")
        assert "Subject: m99" in await client("FETCH 1 (BODY.PEEK[HEADER.FIELDS (Subject)])")
        clock.advance(1)
        assert "* 100 EXISTS" in await client("NOOP")


async def test_split_mode_shows_each_address_its_own_mail_under_the_same_names(certificate: Certificate) -> None:
    user = GivenUser(
        "alice",
        ["alice@proton.local", "second@proton.local"],
        labels=[GivenLabel("Work", folder=True)],
        messages=[GivenMessage(mail("first")), GivenMessage(mail("other"), address="second@proton.local")],
    )
    async with Simulator(users=[user], mode="split", certificate=certificate) as sim:
        for address, subject in (("alice@proton.local", "first"), ("second@proton.local", "other")):
            async with Client(sim, log_in=False) as client:
                await client(f"LOGIN {address} {sim.password}")
                assert '* LIST (\\Unmarked) "/" "Folders/Work"' in await client('LIST "" "Folders/*"')
                await client("SELECT INBOX")
                assert f"Subject: {subject}" in await client("FETCH 1:* (BODY.PEEK[HEADER.FIELDS (Subject)])")


async def test_only_signed_in_users_can_log_in_and_signing_out_ends_their_sessions(certificate: Certificate) -> None:
    async with Simulator(certificate=certificate) as sim, Client(sim) as client:
        sim.sign_out(sim.user())
        assert await client("NOOP") == ["(connection closed)"]
        async with Client(sim, log_in=False) as other:
            assert await other(f"LOGIN {sim.username} {sim.password}") == ["NO no such user"]
            sim.sign_in(sim.user())
            assert "Logged in" in (await other(f"LOGIN {sim.username} {sim.password}"))[-1]


async def test_a_write_that_waits_for_the_api_holds_every_other_session(certificate: Certificate) -> None:
    """A product's time-out below a minute looks like a dead Bridge."""
    clock = WoundClock()
    async with (
        Simulator([GivenMessage(mail("one"))], certificate=certificate, clock=clock) as sim,
        Client(sim) as writer,
        Client(sim) as reader,
    ):
        await writer("SELECT INBOX")
        sim.faults.api_is_down = True
        store = asyncio.create_task(writer("STORE 1 +FLAGS (\\Seen)"))
        while not sim.parked:
            await asyncio.sleep(0)
        listing = asyncio.create_task(reader('LIST "" INBOX'))
        while sim.parked:
            await asyncio.sleep(0.01)
            assert not listing.done()
            began = clock.next_wake
            assert began is not None
            clock.advance_to(began)
            await asyncio.sleep(0.01)
        assert clock.now() - WoundClock().now() == pytest.approx(45, abs=3)
        assert "503 Service Unavailable" in (await store)[-1]
        assert (await listing)[-1] == "OK LIST"


async def test_a_message_number_that_wraps_to_zero_ends_the_whole_process(certificate: Certificate) -> None:
    async with (
        Simulator([GivenMessage(mail("one"))], certificate=certificate) as sim,
        Client(sim) as client,
        Client(sim) as bystander,
    ):
        await client("SELECT INBOX")
        assert "* 1 FETCH (UID 1)" in await client("FETCH 4294967297 (UID)")
        assert await client("FETCH 4294967296 (UID)") == ["(connection closed)"]
        assert await bystander("NOOP") == ["(connection closed)"]
        assert not sim.is_listening


async def test_the_real_model_strips_labels_and_star_in_trash_and_marks_read(certificate: Certificate) -> None:
    user = GivenUser(
        "alice",
        ["alice@proton.local"],
        labels=[GivenLabel("Bills")],
        messages=[GivenMessage(mail("one"), ("inbox", "starred", "Labels/Bills"), key="one")],
    )
    after = {}
    for model in ("fake", "real"):
        async with Simulator(users=[user], model=model, certificate=certificate) as sim, Client(sim) as client:
            await client("SELECT INBOX")
            await client("UID MOVE 1 Trash")
            after[model] = sim.state()["one"]
    assert after["fake"]["in"] == ["All Mail", "Labels/Bills", "Starred", "Trash"]
    assert after["fake"]["unread"] is True
    assert after["real"]["in"] == ["All Mail", "Trash"]
    assert after["real"]["unread"] is False


async def test_the_same_seed_makes_the_same_ids_and_passwords(certificate: Certificate) -> None:
    one, other, third = (Simulator([GivenMessage(mail("a"))], seed=seed, certificate=certificate) for seed in (1, 1, 2))
    assert one.password == other.password != third.password
    assert list(one.account().messages) == list(other.account().messages) != list(third.account().messages)


async def test_a_bridge_whose_process_ended_comes_back_with_the_same_uids(certificate: Certificate) -> None:
    async with Simulator([GivenMessage(mail("one"))], certificate=certificate) as sim:
        async with Client(sim) as client:
            before = uidvalidity(await client("SELECT INBOX"))
            await client("FETCH 4294967296 (UID)")
        await sim.restart()
        async with Client(sim) as client:
            assert uidvalidity(await client("SELECT INBOX")) == before


async def test_the_lively_mailbox_is_the_same_for_the_same_seed_and_moment(certificate: Certificate) -> None:
    now = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    sims = [Simulator(users=[lively_user(120, seed=seed, now=now)], certificate=certificate) for seed in (3, 3, 4)]
    one, same, other = (sim.state() for sim in sims)
    assert one == same != other
    assert len(one) == 120
    async with sims[0] as sim, Client(sim) as client:
        everything = await client('LIST "" "*"')
        assert any('"Folders/Clients"' in line for line in everything)
        await client('EXAMINE "All Mail"')
        fetched = await client("UID FETCH 1:* (ENVELOPE BODYSTRUCTURE RFC822.SIZE)")
        assert len(fetched) == 121


async def test_lists_come_in_no_order_unless_asked_to(certificate: Certificate) -> None:
    """A client that relies on the order of LIST or FETCH is found out."""
    given = [GivenMessage(mail(f"m{number}")) for number in range(40)]
    async with Simulator(given, certificate=certificate) as sim, Client(sim) as client:
        await client("EXAMINE INBOX")
        command = "FETCH 1:* (BODY.PEEK[HEADER.FIELDS (X)])"
        numbers = [int(line.split()[1]) for line in await client(command) if line.startswith("* ")]
        assert sorted(numbers) == list(range(1, 41)) != numbers
        listed = {tuple(await client('LIST "" "*"')) for _ in range(5)}
        assert len(listed) > 1
        sim.settings.answers_in_order = True
        numbers = [int(line.split()[1]) for line in await client(command) if line.startswith("* ")]
        assert numbers == list(range(1, 41))


async def test_sessions_that_have_moved_on_do_not_slow_a_large_store(certificate: Certificate) -> None:
    given = [GivenMessage(mail(f"m{number}")) for number in range(4000)]
    async with (
        Simulator(given, certificate=certificate) as sim,
        Client(sim) as one,
        Client(sim) as other,
    ):
        await one("SELECT INBOX")
        await other('SELECT "All Mail"')
        assert len(await one("UID STORE 1:* +FLAGS (\\Flagged)")) == 4001
        assert len(await other("NOOP")) == 4001


async def test_a_large_message_fetched_in_pieces_is_built_once(certificate: Certificate) -> None:
    made = 0

    def write() -> bytes:
        nonlocal made
        made += 1
        return mail("large", "word " * 6_000_000)

    async with Simulator([GivenMessage(write, time=0)], certificate=certificate) as sim, Client(sim) as client:
        await client("EXAMINE INBOX")
        for start in range(0, 5_000_000, 1_000_000):
            await client(f"UID FETCH 1 (BODY.PEEK[]<{start}.100>)")
        assert made == 1


async def test_a_prepared_simulator_builds_no_message_for_a_list(certificate: Certificate) -> None:
    made = 0

    def write() -> bytes:
        nonlocal made
        made += 1
        return mail("one")

    async with Simulator([GivenMessage(write, time=0)], certificate=certificate) as sim, Client(sim) as client:
        sim.prepare()
        sim.empty_message_cache()
        before = made
        await client("EXAMINE INBOX")
        await client("UID FETCH 1 (ENVELOPE BODYSTRUCTURE RFC822.SIZE INTERNALDATE FLAGS)")
        assert made == before == 1


async def test_a_mailbox_below_a_folder_that_is_gone_elsewhere_is_refused_and_the_session_lives(
    certificate: Certificate,
) -> None:
    user = GivenUser("alice", ["alice@proton.local"], [GivenLabel.from_path("Folders/Work")])
    async with Simulator(users=[user], certificate=certificate) as sim, Client(sim) as client:
        sim.account().delete_label(sim.account().label_id("Folders/Work"))
        assert await client('CREATE "Folders/Work/New"') == ['NO alice has no label "Folders/Work"']
        assert (await client("NOOP"))[-1].startswith("OK")


async def test_two_changes_of_flags_are_told_in_one_line_with_the_uid_if_either_has_it(
    certificate: Certificate,
) -> None:
    """An own UID command tells the UID; what another session changed before is told in the same line."""
    async with (
        Simulator([GivenMessage(mail("one"))], certificate=certificate) as sim,
        Client(sim) as a,
        Client(sim) as b,
    ):
        await a("SELECT INBOX")
        await b("SELECT INBOX")
        await b("STORE 1 +FLAGS (\\Flagged)")
        told = await a("UID STORE 1 +FLAGS (\\Seen)")
        assert [line for line in told if "FETCH" in line] == ["* 1 FETCH (FLAGS (\\Flagged \\Recent \\Seen) UID 1)"]
