"""What config.toml says of sending: where, how, and as whom (J-137)."""

from __future__ import annotations

import pytest

from mcp_proton import bootstrap
from mcp_proton.config.reading import read
from mcp_proton.config.tables import Account
from mcp_proton.config.values import Security
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.mail import Identity
from mcp_proton.domain.role_addresses import ROLE_LOCAL_PARTS, is_role_address
from mcp_proton.imap.login.endpoint import Credentials, TlsMode
from mcp_proton.imap.submission import senders

BASE = '[accounts.a]\nkind = "imap"\nhost = "mail.example"\nusername = "me@example.org"\nsecret = "keyring"\n'
PIN = "sha256:" + "ab" * 32


def account(more: str = "", base: str = BASE) -> Account:
    return read(base + more, "config.toml", {}).accounts["a"]


async def password() -> str:
    return "x"


def test_what_is_left_out_is_as_for_reading() -> None:
    one = account(f'certificate = "{PIN}"\n')
    where = bootstrap.submission(one)
    assert (where.host, where.port, where.tls, str(where.pin)) == ("mail.example", 465, TlsMode.IMPLICIT, PIN)


def test_sending_may_have_a_server_of_its_own_and_no_certificate_is_carried_over_to_it() -> None:
    one = account(f'certificate = "{PIN}"\nsmtp_host = "out.example"\nsmtp_security = "starttls"\n')
    where = bootstrap.submission(one)
    assert (where.host, where.port, where.tls, where.pin) == ("out.example", 587, TlsMode.STARTTLS, None)
    own = account(f'smtp_host = "out.example"\nsmtp_certificate = "{PIN}"\n')
    assert str(bootstrap.submission(own).pin) == PIN


def test_bridge_takes_mail_beside_its_imap() -> None:
    one = account(f'certificate = "{PIN}"\n', BASE.replace('"imap"', '"bridge"').replace("mail.example", "127.0.0.1"))
    assert (one.smtp, one.smtp_protection, one.submission_certificate) == (1025, Security.STARTTLS, PIN)


def test_plain_text_leaves_this_machine_no_more_for_sending_than_for_reading() -> None:
    with pytest.raises(Misconfigured, match="smtp_security plain"):
        account('smtp_security = "plain"\n')


def test_sending_can_be_switched_off() -> None:
    assert bootstrap.outlet(account("sending = false\n"), Credentials("me", password)) is None
    assert bootstrap.outlet(account(), Credentials("me", password)) is not None


def test_identities_are_written_as_people_write_them_and_have_signatures() -> None:
    one = account(
        'identities = ["Me <me@example.org>", "info@example.org"]\n[accounts.a.signatures]\n"Me@example.org" = "Me\\n"\n'
    )
    assert one.senders == (
        Identity("me@example.org", "Me", signature="Me"),
        Identity("info@example.org", role=True),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('identities = ["nobody"]', "one address"),
        ('identities = ["a@b.c, d@e.f"]', "one address"),
        ('identities = ["a@b.c>\\r\\nRCPT TO:<x@y.z"]', "one address"),
        ('identities = ["a@b.c", "A <A@b.c>"]', "twice"),
        ('[accounts.a.signatures]\n"x@y.z" = "s"', "signature"),
        ("smtp_hos = 1", "smtp_host"),
    ],
)
def test_what_cannot_be_a_sender_is_a_complaint(text: str, says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        account(text + "\n")


def test_there_are_25_offices_and_no_spelling_hides_one() -> None:
    """J-137."""
    assert len(ROLE_LOCAL_PARTS) == 25
    for address in ("postmaster@x", "NO-REPLY@x", "no_reply@x", "Mailer-Daemon@x", "do.not.reply@x", "info+a@x"):
        assert is_role_address(address)
    for address in ("me@x", "informer@x", "reply@x", "a@postmaster.x"):
        assert not is_role_address(address)


def test_an_office_is_an_identity_only_where_it_is_configured() -> None:
    """J-137: not even as the login name."""
    assert senders.identities("info@example.org", []) == []
    named = Identity("info@example.org", "Info", role=True)
    assert senders.identities("info@example.org", [named]) == [named]
    assert [one.email for one in senders.identities("me@example.org", [named])] == [
        "me@example.org",
        "info@example.org",
    ]
    assert senders.identities("me", []) == []
