"""The servers the other tests lean on: they hold what is loaded, keep users apart and leave nothing behind."""

from __future__ import annotations

import hashlib
import socket
import ssl
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers import install, process
from tests.servers.account import Account
from tests.servers.append import Appender, AppendRefusedError
from tests.servers.cyrus import Cyrus
from tests.servers.dovecot import Dovecot
from tests.servers.fixtures import running
from tests.servers.mail import Mail

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.server, pytest.mark.process]

STANDARD = {"INBOX", "Drafts", "Sent", "Trash", "Junk", "Archive"}


@pytest.fixture(params=["dovecot", "cyrus"])
def account(request: pytest.FixtureRequest) -> Account:
    made = request.getfixturevalue(request.param)
    assert isinstance(made, Account)
    return made


def numbered(count: int) -> list[bytes]:
    return [b"From: a@example.org\nSubject: number %d\n\nbody\n" % number for number in range(count)]


def fetched(connection: Appender, mailbox: bytes, items: bytes) -> list[bytes]:
    connection.command(b"EXAMINE " + mailbox)
    answer = connection.command(b"FETCH 1:* ", items)
    return [line for line in answer if line.startswith((b"* ", b"Subject:"))]


def test_messages_are_numbered_in_the_order_they_were_loaded(account: Account) -> None:
    assert account.load(numbered(250)) == 250
    account.load(numbered(3), mailbox="Work")
    with account.appender() as connection:
        lines = fetched(connection, b"INBOX", b"(UID BODY.PEEK[HEADER.FIELDS (SUBJECT)])")
        assert connection.messages("Work") == 3
    subjects = [int(line.split()[-1]) for line in lines if line.startswith(b"Subject:")]
    assert subjects == list(range(250))


def test_flags_keywords_and_the_day_of_arrival_are_kept(account: Account) -> None:
    day = datetime(2021, 3, 4, 5, 6, 7, tzinfo=UTC)
    (raw,) = numbered(1)
    account.load([Mail(raw, ("\\Seen",), day), Mail(raw, ("$Forwarded",)), Mail(raw, ("\\Flagged", "\\Answered"))])
    with account.appender() as connection:
        first, second, third = fetched(connection, b"INBOX", b"(FLAGS INTERNALDATE)")
    assert b"\\Seen" in first
    assert b"4-Mar-2021 05:06:07 +0000" in first
    assert b"$Forwarded" in second
    assert b"\\Flagged" in third
    assert b"\\Answered" in third


def test_bare_line_feeds_become_crlf_and_nothing_else_changes(account: Account) -> None:
    account.load([b"Subject: x\n\nline\n", b"Subject: y\r\n\r\nline\r\n"])
    with account.appender() as connection:
        connection.command(b"EXAMINE INBOX")
        answer = b"".join(connection.command(b"FETCH 1:2 BODY.PEEK[]"))
    assert b"Subject: x\r\n\r\nline\r\n" in answer
    assert b"Subject: y\r\n\r\nline\r\n" in answer


def test_every_account_is_new_and_sees_only_its_own_mail(account: Account) -> None:
    account.load(numbered(1))
    other = account.server.account()
    assert other.username != account.username
    with other.appender() as connection:
        assert connection.messages("INBOX") == 0
        names = {line.split()[-1].strip(b'"').decode() for line in connection.command(b'LIST "" *')}
    assert names >= STANDARD


def test_a_wrong_password_is_refused(account: Account) -> None:
    with pytest.raises(AppendRefusedError):
        Appender(account.host, account.imap_port, account.username, "wrong")


def test_the_certificate_served_is_the_one_announced(account: Account) -> None:
    """B-03: what a client pins at set-up is what the TLS port shows."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((account.host, account.imaps_port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as encrypted,
    ):
        shown = encrypted.getpeercert(binary_form=True)
        assert shown is not None
        assert hashlib.sha256(shown).hexdigest() == account.certificate_sha256
        assert encrypted.recv(4) == b"* OK"


def test_both_servers_offer_starttls_on_the_plain_port(account: Account) -> None:
    with account.appender() as connection:
        assert b"IMAP4rev1" in connection.command(b"CAPABILITY")[0]
    with socket.create_connection((account.host, account.imap_port), timeout=10) as plain:
        plain.sendall(b"a STARTTLS\r\n")
        answer = b""
        while b"\r\na " not in answer or not answer.endswith(b"\r\n"):
            answer += plain.recv(1000)
    assert b"\r\na OK" in answer


def test_cyrus_answers_jmap_with_the_same_user(cyrus: Account) -> None:
    assert cyrus.jmap_port is not None
    with socket.create_connection((cyrus.host, cyrus.jmap_port), timeout=10) as plain:
        plain.sendall(b"GET /.well-known/jmap HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status = plain.recv(1000).split(b"\r\n")[0]
    assert b" 401 " in status or b" 30" in status


def test_dovecot_takes_fifty_thousand_messages(dovecot: Account) -> None:
    mails = (b"Subject: %d\r\n\r\n%b\r\n" % (number, b"x" * 70) for number in range(50_000))
    assert dovecot.load(mails) == 50_000
    with dovecot.appender() as connection:
        assert connection.messages("INBOX") == 50_000


@pytest.mark.parametrize("start", [Dovecot, Cyrus])
def test_a_stopped_server_leaves_no_process_and_no_file(start: Callable[[Path], Dovecot | Cyrus]) -> None:
    with running(start) as server:
        account = server.account()
        folder = server.folder
        assert programs_of(folder)
    assert not folder.exists()
    assert programs_of(folder) == []
    with pytest.raises(OSError):
        socket.create_connection((account.host, account.imap_port), timeout=1)


def programs_of(folder: Path) -> list[str]:
    """Command lines that name `folder`, and programs whose working folder lies in it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
            place = str((entry / "cwd").readlink())
        except OSError:
            continue
        if str(folder) in words or place.startswith(str(folder)):
            found.append(words)
    return found


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(process.ServerFailedError, match="no such option"):
        process.ServerProcess(["/bin/sh", "-c", "echo no such option; exit 1"], tmp_path, process.free_ports(1), {})


def test_ports_handed_out_together_differ_and_are_free() -> None:
    ports = process.free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as candidate:
            candidate.bind((process.LOOPBACK, port))


def test_a_machine_with_the_servers_lacks_nothing() -> None:
    assert install.missing() == []
    assert install.main() == 0
