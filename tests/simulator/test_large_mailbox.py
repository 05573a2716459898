"""Fifty thousand messages within 300 MiB, opened in no time."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, resource, time
from mcp_proton.simulator import GivenMessage, Simulator
from tests.simulator.client import Client

def mail(number):
    head = (f"From: Person {number % 997} <p{number % 997}@example.com>\\nTo: alice@proton.local\\n"
            f"Subject: Message {number}\\nDate: Mon, 02 Jan 2023 10:00:00 +0000\\nMessage-ID: <m{number}@example.com>\\n\\n")
    return (head + "Some words of text that go on and on.\\n" * 30).encode()

async def main():
    simulator = Simulator(GivenMessage(mail(number), unread=number % 10 == 0) for number in range(50_000))
    async with simulator, Client(simulator) as client:
        began = time.monotonic()
        assert "* 50000 EXISTS" in await client("SELECT INBOX")
        selected = time.monotonic() - began
        assert len((await client("UID SEARCH UNSEEN"))[0].split()) == 5002
        assert len(await client("UID FETCH 1:2000 (ENVELOPE BODYSTRUCTURE RFC822.SIZE)")) == 2001
        assert len(await client("UID FETCH 1:* (FLAGS)")) == 50_001
        await client("UID MOVE 1:1000 Archive")
        simulator.release_events()
    print(selected, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

asyncio.run(main())
"""


@pytest.mark.process
def test_fifty_thousand_messages_fit_into_300_mib_and_select_takes_no_second() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=55, check=False)
    assert run.returncode == 0, run.stderr
    selected, peak = map(float, run.stdout.split())
    assert selected < 1
    assert peak < 300
