"""A server that says anything at all: nothing hangs, nothing foreign is raised, and only its own 250 accepts a mail."""

from __future__ import annotations

import asyncio
import random

import pytest

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.outgoing import Delivery, Submission
from mcp_proton.imap.limits import SubmissionTiming
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, TlsMode
from mcp_proton.imap.submission.outlet import Outlet
from mcp_proton.imap.submission.submit import Submitting
from tests.contract.letters_out import mail

ME = "alice@example.org"
USUAL = {
    b"": b"220 hi\r\n",
    b"EHLO": b"250-x\r\n250-SIZE\r\n250 AUTH PLAIN LOGIN\r\n",
    b"AUTH": b"235 in\r\n",
    b"MAIL": b"250 ok\r\n",
    b"RCPT": b"250 ok\r\n",
    b"DATA": b"354 go\r\n",
    b".": b"250 taken\r\n",
}
ODD = [
    b"", b"\r\n", b"\n", b"250\n", b"250", b"2", b"250-\r\n", b"999 x\r\n", b"-1 x\r\n", b"250 a\r\n250 b\r\n", b"550 no\r\n",
    b"354 go\r\n", b"421 bye\r\n", b"\xff\xfe\x00\r\n", b"250-a\r\n550 b\r\n", b"+250 ok\r\n", b" 250 ok\r\n",
    b"250 " + b"x" * 9_000 + b"\r\n",
    b"250-x\r\n" * 9_000, b"220 " + b"\r" * 50 + b"\n", b"235 in\r\n", b"334 \r\n", b"550 a\r\nb\r\n\r\n",
]  # fmt: skip


class Babbling:
    """Says what is usual, but now and then something else, or nothing and hangs up."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.last = b""
        self.whole = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._say(writer, b"")
            while line := await reader.readline():
                verb = line[:4].strip().upper()
                if verb == b"DATA" and self._say(writer, b"DATA").startswith(b"354"):
                    while (line := await reader.readline()) not in (b".\r\n", b""):
                        pass
                    self.whole = self.whole or bool(line)
                    self.last = self._say(writer, b".")
                elif verb != b"DATA":
                    self._say(writer, verb)
        except (OSError, ValueError):
            pass
        finally:
            writer.transport.abort()

    def _say(self, writer: asyncio.StreamWriter, step: bytes) -> bytes:
        odd = self._random.random() < 0.2
        said = self._random.choice(ODD) if odd else USUAL.get(step, b"250 ok\r\n")
        writer.write(said)
        if odd and self._random.random() < 0.7:
            raise ConnectionResetError
        return said


@pytest.mark.parametrize("block", range(10))
async def test_whatever_a_server_says_a_mail_is_accepted_by_its_250_alone(block: int) -> None:
    async def password() -> str:
        return "secret"

    for seed in range(block * 40, block * 40 + 40):
        server = Babbling(seed)
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 20)
        endpoint = Endpoint(
            "127.0.0.1", listening.sockets[0].getsockname()[1], TlsMode.PLAIN, plain_to_this_machine=True
        )
        timing = SubmissionTiming(reply=0.2, end=0.2, goodbye=0.1)
        told: Submission | MailError
        try:
            told = await Submitting(Outlet(endpoint, Credentials("me", password), timing=timing)).submit(
                ME, ["bob@example.net", "c@example.net"], mail(ME)
            )
        except MailError as error:
            told = error
        listening.close()
        await listening.wait_closed()
        if isinstance(told, Submission) and told.delivery is Delivery.ACCEPTED:
            assert server.whole, seed
            assert server.last.startswith(b"250"), seed
        elif server.whole and server.last.startswith(b"250 taken"):
            # It has the mail: whatever went wrong, nobody may be told that it has not.
            assert isinstance(told, Submission), seed
            assert told.delivery is not Delivery.NOT_SENT, seed
