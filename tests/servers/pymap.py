"""pymap, an IMAP server in pure Python that keeps mail in memory: OBJECTID, BINARY, MULTIAPPEND and no CONDSTORE."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.canaries import words
from tests.servers import process
from tests.servers.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.servers.mail import Mail

_PROGRAM = Path(__file__).with_name("pymap_program.py")
_PASSWORD = words.planted("a password", "correct-horse-of-pymap")


class Pymap:
    """A running pymap, without TLS."""

    def __init__(self, folder: Path) -> None:
        self._names = itertools.count(1)
        (self._port,) = process.free_ports(1)
        words = ["--host", process.LOOPBACK, "--port", str(self._port), "--no-tls", "--no-service", "managesieve"]
        # As us: it runs in our environment, which others need not be able to read. -P: this file bears its name.
        self._process = process.ServerProcess(
            [sys.executable, "-P", _PROGRAM, *words, "many", "--demo-password", _PASSWORD],
            folder,
            [self._port],
            {},
            as_root=True,
        )

    def account(self) -> Account:
        """A new user, with mailboxes whose names say what they are for."""
        made = Account(process.LOOPBACK, self._port, 0, "", f"user{next(self._names)}", _PASSWORD, self)
        with made.appender() as connection:
            for name in ("Drafts", "Sent", "Trash", "Junk", "Archive"):
                connection.ensure_mailbox(name)
        return made

    def store(self, account: Account, mailbox: str, mails: Iterable[Mail]) -> int:
        """By APPEND."""
        with account.appender() as connection:
            return connection.append(mailbox, mails)

    def stop(self) -> None:
        self._process.stop()
