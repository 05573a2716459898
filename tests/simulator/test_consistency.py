"""Whatever two sessions and another device do, once events came and NOOP was said everybody sees the account as it is."""

from __future__ import annotations

import random
import re

import pytest

from mcp_proton.simulator import Certificate, GivenLabel, GivenMessage, GivenUser, Simulator
from tests.simulator.client import Client
from tests.simulator.test_simulator import mail, uidvalidity

MAILBOXES = {
    "INBOX": "Inbox", "Sent": "Sent", "Drafts": "Drafts", "Archive": "Archive", "Spam": "Spam", "Trash": "Trash",
    "Starred": "Starred", "All Mail": "All Mail", "Folders/F": "Folders/F", "Labels/L": "Labels/L", "Labels/M": "Labels/M",
}  # fmt: skip
FLAVOURS = (("received",), ("sent",), ("draft",))
FETCHED = re.compile(r"\* (\d+) FETCH \(UID (\d+) FLAGS \((.*)\)\)")


def user() -> GivenUser:
    places = ["inbox", "archive", "trash", "Folders/F", "Labels/L"]
    messages = [
        GivenMessage(
            mail(f"m{number}"),
            tuple(
                dict.fromkeys((places[number % 4], *(["starred"] if number % 3 else []), *places[4 : 4 + number % 2]))
            ),
            FLAVOURS[number % 3],
            key=f"m{number}",
        )
        for number in range(12)
    ]
    labels = [GivenLabel("F", folder=True), GivenLabel("L"), GivenLabel("M")]
    return GivenUser("alice", ["alice@proton.local"], labels=labels, messages=messages)


def command(source: random.Random) -> str:
    mailbox = source.choice(list(MAILBOXES))
    uids = f"{source.randrange(1, 8)}:{source.choice(['*', '3', '9'])}"
    flags = source.choice(["\\Seen", "\\Flagged", "\\Deleted", "\\Seen \\Flagged", "$Forwarded", "Word", "\\Answered"])
    return source.choice(
        [
            f'SELECT "{mailbox}"',
            f'UID COPY {uids} "{mailbox}"',
            f'UID MOVE {uids} "{mailbox}"',
            f"UID STORE {uids} {source.choice('+-')}FLAGS ({flags})",
            f"UID STORE {uids} FLAGS.SILENT ({flags})",
            f"UID EXPUNGE {uids}",
            f"UID FETCH {uids} (BODY[HEADER.FIELDS (Subject)])",
            "NOOP",
            "CLOSE",
            "UNSELECT",
            "UID SEARCH UNSEEN",
            f'STATUS "{mailbox}" (MESSAGES UIDNEXT)',
        ]
    )


def elsewhere(simulator: Simulator, source: random.Random) -> None:
    account = simulator.account()
    ids = [one for one in account.messages if source.random() < 0.3]
    label = account.label_id(source.choice(["inbox", "trash", "archive", "starred", "Labels/L", "Folders/F"]))
    source.choice(
        [
            lambda: account.label(ids, label),
            lambda: account.unlabel(ids, label),
            lambda: account.set_read(ids, read=source.random() < 0.5),
            lambda: account.set_flag(ids, "replied"),
            lambda: simulator.deliver(mail("new"), key=f"n{len(account.messages)}-{source.randrange(10**9)}"),
            simulator.release_events,
        ]
    )()


def shown(lines: list[str]) -> list[tuple[int, frozenset[str]]]:
    """UID and flags of each message, in sequence order."""
    found = sorted((int(number), int(uid), flags) for number, uid, flags in re.findall(FETCHED, "\n".join(lines)))
    assert [number for number, _, _ in found] == list(range(1, len(found) + 1))
    return [(uid, frozenset(flags.split()) - {"\\Recent"}) for _, uid, flags in found]


@pytest.mark.parametrize("seed", range(12))
async def test_after_events_every_session_sees_the_account_as_it_is(seed: int, certificate: Certificate) -> None:
    source = random.Random(seed)
    async with (
        Simulator(users=[user()], certificate=certificate, model=source.choice(["real", "fake"])) as sim,
        Client(sim) as one,
        Client(sim) as other,
    ):
        validities = {name: uidvalidity(await one(f'EXAMINE "{name}"')) for name in MAILBOXES}
        for _ in range(80):
            if source.random() < 0.2:
                elsewhere(sim, source)
            else:
                answer = await source.choice([one, other])(command(source))
                assert answer[-1].startswith(("OK", "NO")), answer
        # A second round, because a first one can show flags an unread event still changes.
        sim.release_events()
        sim.release_events()
        state = sim.state()
        for name, place in MAILBOXES.items():
            await other(f'SELECT "{name}"')
            sim.account().set_read(list(sim.account().messages), read=source.random() < 0.5)
            sim.release_events()
            await other("NOOP")
            kept = shown(await other("FETCH 1:* (UID FLAGS)"))
            lines = await one(f'EXAMINE "{name}"')
            fresh = shown(await one("FETCH 1:* (UID FLAGS)"))
            assert uidvalidity(lines) == validities[name]
            assert kept == fresh
            assert len(fresh) == sum(place in message["in"] for message in state.values())
            uids = [uid for uid, _ in fresh]
            assert uids == sorted(set(uids))
        await one('EXAMINE "All Mail"')
        searched = {word: (await one(f"UID SEARCH {word}"))[0].split()[2:] for word in ("SEEN", "FLAGGED", "ANSWERED")}
        state = sim.state()
        assert len(searched["SEEN"]) == sum(not message["unread"] for message in state.values())
        assert len(searched["FLAGGED"]) == sum("Starred" in message["in"] for message in state.values())
        assert len(searched["ANSWERED"]) == sum("replied" in message["flags"] for message in state.values())


async def test_no_uid_is_ever_given_twice_in_one_mailbox(certificate: Certificate) -> None:
    async with Simulator(users=[user()], certificate=certificate) as sim, Client(sim) as client:
        given: set[str] = set()
        for _ in range(6):
            await client("SELECT INBOX")
            answer = "\n".join(await client("UID MOVE 1:* Archive"))
            await client("SELECT Archive")
            back = re.search(r"COPYUID \d+ \S+ (\S+)\]", "\n".join(await client("UID MOVE 1:* INBOX")))
            assert back is not None, answer
            first, _, last = back.group(1).partition(":")
            new = {str(uid) for uid in range(int(first), int(last or first) + 1)}
            assert not given & new
            given |= new
            sim.release_events()
