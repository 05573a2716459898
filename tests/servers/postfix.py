"""Postfix as a submission server below one temporary folder: logins checked and mail kept by a Dovecot beside it.

`NAME@lab.test` is the account NAME; every other recipient is refused, and nothing leaves this machine. Root only:
Postfix drops to its own user by itself.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers import certificate, process

if TYPE_CHECKING:
    from tests.servers.dovecot import Dovecot

DOMAIN = "lab.test"
PROGRAM = Path("/usr/sbin/postfix")
LARGEST = 41_943_040

_MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
mail_owner = postfix
setgid_group = postdrop
inet_interfaces = {host}
inet_protocols = ipv4
myhostname = mail.{domain}
mydomain = {domain}
mydestination =
local_recipient_maps =
alias_maps =
virtual_mailbox_domains = {domain}
virtual_transport = lmtp:inet:{host}:{lmtp_port}
relay_domains =
default_transport = error:no mail leaves this machine
smtpd_relay_restrictions = reject_unauth_destination
smtpd_recipient_restrictions = permit_sasl_authenticated, reject
smtpd_client_connection_count_limit = 0
smtpd_error_sleep_time = 0
smtpd_tls_security_level = may
smtpd_tls_auth_only = yes
smtpd_tls_cert_file = {certificate}
smtpd_tls_key_file = {key}
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:{host}:{auth_port}
smtputf8_enable = yes
message_size_limit = {largest}
maillog_file_prefixes = {folder}
maillog_file = {folder}/postfix.log
"""
_MASTER = """
{host}:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
lmtp unix - - n - - lmtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
"""


def can_run() -> bool:
    """Whether this user may start it."""
    return os.geteuid() == 0


class Postfix:
    """A running Postfix: STARTTLS and AUTH at `port`, PIPELINING, SIZE, 8BITMIME, SMTPUTF8."""

    def __init__(self, folder: Path, dovecot: Dovecot) -> None:
        self.folder = folder
        self._tls = certificate.issue(folder)
        (self.port,) = process.free_ports(1)
        self.certificate_sha256 = self._tls.sha256
        # Its own users have to get to what is below.
        folder.chmod(0o755)
        settings, queue, data = (folder / part for part in ("etc", "queue", "data"))
        for one in (settings, queue, data):
            one.mkdir()
        shutil.chown(folder, "root", "root")
        shutil.chown(queue, "root", "root")
        shutil.chown(data, "postfix", "root")
        (settings / "main.cf").write_text(
            _MAIN.format(
                folder=folder,
                host=process.LOOPBACK,
                domain=DOMAIN,
                lmtp_port=dovecot.lmtp_port,
                auth_port=dovecot.auth_port,
                certificate=self._tls.chain,
                key=self._tls.key,
                largest=LARGEST,
            )
        )
        (settings / "master.cf").write_text(_MASTER.format(host=process.LOOPBACK, port=self.port))
        for part in ("dynamicmaps.cf.d", "postfix-files.d"):
            (settings / part).mkdir()
        (settings / "dynamicmaps.cf").write_text("")
        shutil.copy("/etc/postfix/postfix-files", settings)
        subprocess.run([PROGRAM, "-c", settings, "check"], check=True, capture_output=True)
        self._process = process.ServerProcess(
            ["/usr/lib/postfix/sbin/master", "-c", settings, "-d"], folder, [self.port], {}, as_root=True
        )

    def stop(self) -> None:
        self._process.stop()
