"""Dovecot with a configuration, users and mail of its own, below one temporary folder.

For a mail server beside it there are LMTP (for `NAME@anything`) and the check of logins, each on a port.
"""

from __future__ import annotations

import base64
import hmac
import itertools
import json
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.canaries import words
from tests.servers import certificate, maildir, process
from tests.servers.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.servers.mail import Mail

PROGRAM = Path("/usr/sbin/dovecot")

_CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/dovecot.log
listen = {host}
protocols = imap lmtp
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
mail_uid = {user}
mail_gid = {group}
mail_home = {folder}/mail/%n
mail_location = maildir:~/Maildir
mail_max_userip_connections = 100
disable_plaintext_auth = no
auth_mechanisms = plain login xoauth2 oauthbearer
auth_failure_delay = 0 secs
ssl = yes
ssl_cert = <{certificate}
ssl_key = <{key}
ssl_dh =
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {folder}/oauth2.conf
}}
passdb {{
  driver = static
  mechanisms = plain login
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}/mail/%n allow_all_users=yes
}}
namespace inbox {{
  inbox = yes
  separator = /
{special}
}}
protocol imap {{
  mail_plugins = imap_zlib
{hidden}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  service_count = 0
  process_min_avail = 1
  inet_listener imap {{
    port = {imap_port}
  }}
  inet_listener imaps {{
    port = {imaps_port}
    ssl = yes
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    port = {lmtp_port}
  }}
}}
service auth {{
  inet_listener {{
    port = {auth_port}
  }}
}}
service imap {{
  vsz_limit = 2G
  process_limit = 200
}}
"""
# Tokens are JWTs signed with a key of the server's own; it asks nobody.
_TOKENS = """
introspection_mode = local
local_validation_key_dict = fs:posix:prefix={folder}/keys/
username_attribute = sub
scope = mail
"""
# Every name is a user with this password: Dovecot re-reads a file of users at most once a second.
_PASSWORD = words.planted("a password", "correct-horse-of-dovecot")
_SPECIAL = ("Drafts", "Sent", "Trash", "Junk", "Archive")


class Dovecot:
    """A running Dovecot. Mail lies in a Maildir a user, so loading writes files instead of talking IMAP."""

    def __init__(self, folder: Path, *, capabilities: str | None = None) -> None:
        """`capabilities`: what it says it can, instead of all that it can."""
        self.folder = folder
        self._hidden = "" if capabilities is None else f"  imap_capability = {capabilities}"
        self._names = itertools.count(1)
        self._tls = certificate.issue(folder)
        self._imap_port, self._imaps_port, self.lmtp_port, self.auth_port = process.free_ports(4)
        for part in ("run", "state", "mail"):
            (folder / part).mkdir()
        self._key = secrets.token_bytes(32)
        keys = folder / "keys" / "default" / "HS256"
        keys.mkdir(parents=True)
        (keys / "default").write_bytes(base64.b64encode(self._key))
        (folder / "oauth2.conf").write_text(_TOKENS.format(folder=folder))
        configuration = folder / "dovecot.conf"
        configuration.write_text(self._configuration())
        process.hand_over(folder)
        self._process = process.ServerProcess(
            [PROGRAM, "-F", "-c", configuration], folder, [self._imap_port, self._imaps_port], {}
        )

    def _configuration(self) -> str:
        owner = process.account()
        special = "\n".join(
            f"  mailbox {name} {{\n    special_use = \\{name}\n    auto = subscribe\n  }}" for name in _SPECIAL
        )
        return _CONFIGURATION.format(
            folder=self.folder,
            host=process.LOOPBACK,
            user=owner.pw_name,
            group=process.group_name(),
            certificate=self._tls.chain,
            key=self._tls.key,
            password=_PASSWORD,
            special=special,
            hidden=self._hidden,
            imap_port=self._imap_port,
            imaps_port=self._imaps_port,
            lmtp_port=self.lmtp_port,
            auth_port=self.auth_port,
        )

    def account(self) -> Account:
        """A new user with INBOX, Drafts, Sent, Trash, Junk and Archive, all empty."""
        username = f"user{next(self._names)}"
        return Account(
            host=process.LOOPBACK,
            imap_port=self._imap_port,
            imaps_port=self._imaps_port,
            certificate_sha256=self._tls.sha256,
            username=username,
            password=_PASSWORD,
            server=self,
        )

    def access_token(self, username: str, *, seconds: float = 600, scope: str = "mail") -> str:
        """A JWT (RFC 7519) that this server takes for this long, if it is of the scope `mail`."""
        claims = {"sub": username, "exp": int(time.time() + seconds), "scope": scope}
        words = (_base64url(json.dumps(one).encode()) for one in ({"typ": "JWT", "alg": "HS256"}, claims))
        signed = ".".join(words)
        return f"{signed}.{_base64url(hmac.digest(self._key, signed.encode(), 'sha256'))}"

    def store(self, account: Account, mailbox: str, mails: Iterable[Mail]) -> int:
        """Write files; only what carries keywords goes through APPEND."""
        count = 0
        with account.appender() as connection:
            for plain, run in itertools.groupby(mails, maildir.can_hold):
                if plain:
                    count += maildir.write(self._maildir(account, mailbox), run)
                    # Numbers the new files now: a later APPEND must not come before them.
                    connection.messages(mailbox)
                else:
                    count += connection.append(mailbox, run)
        return count

    def _maildir(self, account: Account, mailbox: str) -> Path:
        top = self.folder / "mail" / account.username / "Maildir"
        return top if mailbox.upper() == "INBOX" else top / ("." + mailbox.replace("/", "."))

    def stop(self) -> None:
        self._process.stop()


def _base64url(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()
