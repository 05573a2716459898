"""A mail account on a running server: all that a client, and so a test, needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tests.servers.append import Appender
from tests.servers.mail import Mail, as_mails

if TYPE_CHECKING:
    from collections.abc import Iterable


class MailServer(Protocol):
    """A running server. `account()` makes a new, empty mailbox of a user nobody else has."""

    def account(self) -> Account: ...

    def store(self, account: Account, mailbox: str, mails: Iterable[Mail]) -> int:
        """Put messages into a mailbox that exists, the fastest way this server has; return how many."""
        ...


@dataclass(frozen=True, slots=True)
class Account:
    """Where to connect and as whom. The certificate is self-signed; its SHA-256 is lower-case hex."""

    host: str
    imap_port: int
    imaps_port: int
    certificate_sha256: str
    username: str
    password: str
    server: MailServer
    jmap_port: int | None = None

    def appender(self) -> Appender:
        """A connection that can APPEND and send commands as they are given."""
        return Appender(self.host, self.imap_port, self.username, self.password)

    def load(self, mails: Iterable[Mail | bytes], mailbox: str = "INBOX") -> int:
        """Put messages into `mailbox` (made when missing; modified UTF-7) in the order given; return how many.

        UIDs rise in that order.
        """
        with self.appender() as connection:
            connection.ensure_mailbox(mailbox)
        return self.server.store(self, mailbox, as_mails(mails))
