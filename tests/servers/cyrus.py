"""Cyrus IMAP with IMAP and JMAP on loopback, unpacked and run below one temporary folder.

Debian lets only one IMAP server be installed at a time, so Cyrus is never installed: its packages are unpacked.
"""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.canaries import words
from tests.servers import certificate, process
from tests.servers.account import Account

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.servers.mail import Mail

PACKAGES = Path(__file__).parents[2] / ".cache" / "servers" / "cyrus"
SASL_PASSWORD = Path("/usr/sbin/saslpasswd2")

_OPTIONS = """
configdirectory: {folder}/conf
proc_path: {folder}/proc
mboxname_lockpath: {folder}/lock
defaultpartition: default
partition-default: {folder}/spool
cyrus_user: {user}
cyrus_group: {group}
servername: 127.0.0.1
virtdomains: off
unixhierarchysep: yes
altnamespace: yes
allowplaintext: yes
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: {folder}/passwords
sasl_mech_list: PLAIN LOGIN
tls_server_cert: {certificate}
tls_server_key: {key}
httpmodules: jmap
conversations: yes
jmap_nonstandard_extensions: yes
autocreate_quota: 0
autocreate_post: yes
autocreate_inbox_folders: Drafts|Sent|Trash|Junk|Archive
autocreate_subscribe_folders: Drafts|Sent|Trash|Junk|Archive
xlist-drafts: Drafts
xlist-sent: Sent
xlist-trash: Trash
xlist-junk: Junk
xlist-archive: Archive
idlesocket: {folder}/socket/idle
imapidlepoll: 1
lmtpsocket: {folder}/socket/lmtp
notifysocket: {folder}/socket/notify
expunge_mode: immediate
maxchild: 100
failedloginpause: 0
"""
_SERVICES = """
START {{
  recover cmd="{programs}/ctl_cyrusdb -C {options} -r"
}}
SERVICES {{
  imap cmd="{programs}/imapd -C {options}" listen="127.0.0.1:{imap_port}" prefork=1
  imaps cmd="{programs}/imapd -C {options} -s" listen="127.0.0.1:{imaps_port}" prefork=0
  http cmd="{programs}/httpd -C {options}" listen="127.0.0.1:{jmap_port}" prefork=0
}}
EVENTS {{
  checkpoint cmd="{programs}/ctl_cyrusdb -C {options} -c" period=30
}}
DAEMON {{
  idled cmd="{programs}/idled -C {options} -f"
}}
"""


class Cyrus:
    """A running Cyrus. Its JMAP door is plain HTTP at `/.well-known/jmap` of `jmap_port`, with Basic authentication."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names = itertools.count(1)
        root = folder / "root"
        for package in sorted(PACKAGES.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, root], check=True)
        self._passwords = folder / "passwords"
        self._tls = certificate.issue(folder)
        self._imap_port, self._imaps_port, self._jmap_port = process.free_ports(3)
        for part in (
            "spool",
            "proc",
            "lock",
            "socket",
            "conf/db",
            "conf/socket",
            "conf/user",
            "conf/quota",
            "conf/sync",
        ):
            (folder / part).mkdir(parents=True)
        options, services = self._configure(root / "usr/lib/cyrus/bin")
        process.hand_over(folder)
        (libraries,) = root.glob("usr/lib/*-linux-gnu")
        self._process = process.ServerProcess(
            [root / "usr/lib/cyrus/bin/master", "-C", options, "-M", services, "-p", folder / "master.pid"],
            folder,
            [self._imap_port, self._imaps_port, self._jmap_port],
            {"LD_LIBRARY_PATH": str(libraries)},
        )

    def _configure(self, programs: Path) -> tuple[Path, Path]:
        options, services = self.folder / "imapd.conf", self.folder / "cyrus.conf"
        options.write_text(
            _OPTIONS.format(
                folder=self.folder,
                user=process.account().pw_name,
                group=process.group_name(),
                certificate=self._tls.chain,
                key=self._tls.key,
            )
        )
        services.write_text(
            _SERVICES.format(
                programs=programs,
                options=options,
                imap_port=self._imap_port,
                imaps_port=self._imaps_port,
                jmap_port=self._jmap_port,
            )
        )
        return options, services

    def account(self) -> Account:
        """A new user with INBOX, Drafts, Sent, Trash, Junk and Archive, all empty."""
        username = f"user{next(self._names)}"
        password = words.planted("a password", f"{username}-correct-horse-of-cyrus")
        command: list[str | Path] = [SASL_PASSWORD, "-p", "-c", "-u", process.LOOPBACK, "-f", self._passwords, username]
        subprocess.run(process.unprivileged(command), input=password.encode(), check=True, capture_output=True)
        account = Account(
            host=process.LOOPBACK,
            imap_port=self._imap_port,
            imaps_port=self._imaps_port,
            certificate_sha256=self._tls.sha256,
            username=username,
            password=password,
            server=self,
            jmap_port=self._jmap_port,
        )
        with account.appender() as connection:
            # A first SELECT is what makes Cyrus create the standard mailboxes.
            connection.command(b"SELECT INBOX")
        return account

    def store(self, account: Account, mailbox: str, mails: Iterable[Mail]) -> int:
        """APPEND, many messages a command."""
        with account.appender() as connection:
            return connection.append(mailbox, mails)

    def stop(self) -> None:
        self._process.stop()
