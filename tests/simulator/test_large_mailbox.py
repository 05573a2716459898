"""Fifty thousand messages within 300 MiB."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, pathlib
from mcp_proton.simulator import GivenMessage, Simulator
from tests.simulator.client import Client

def mail(number):
    head = (f"From: Person {number % 997} <p{number % 997}@example.com>\\nTo: alice@proton.local\\n"
            f"Subject: Message {number}\\nDate: Mon, 02 Jan 2023 10:00:00 +0000\\nMessage-ID: <m{number}@example.com>\\n\\n")
    return (head + "Some words of text that go on and on.\\n" * 30).encode()

async def main():
    simulator = Simulator(GivenMessage(mail(number), unread=number % 10 == 0) for number in range(50_000))
    async with simulator, Client(simulator) as client:
        assert "* 50000 EXISTS" in await client("SELECT INBOX")
        assert len((await client("UID SEARCH UNSEEN"))[0].split()) == 5002
        assert len(await client("UID FETCH 1:2000 (ENVELOPE BODYSTRUCTURE RFC822.SIZE)")) == 2001
        assert len(await client("UID FETCH 1:* (FLAGS)")) == 50_001
        await client("UID MOVE 1:1000 Archive")
        simulator.release_events()
    # Not ru_maxrss: that begins with what the process that started this one needed.
    status = pathlib.Path("/proc/self/status").read_text()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))

asyncio.run(main())
"""


@pytest.mark.process
def test_fifty_thousand_messages_fit_into_300_mib() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=55, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) / 1024 < 300
