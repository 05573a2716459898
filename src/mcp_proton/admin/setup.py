"""`mcp-proton setup`: connects an account, chooses what agents may do with it, lets an agent in.

Asks at a terminal, takes every answer as a flag too, and writes nothing before everything was answered and the login
worked. For an account that is there already it is the way to mend it: a new certificate, a new password, another port.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter, validators

from mcp_proton import bootstrap
from mcp_proton.admin.asking import SaidNoError, interactive, say
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.admin.programs import Program
from mcp_proton.admin.setting_up import access, login, renewing, server
from mcp_proton.admin.setting_up.renewing import KEPT_BY_US, Renewing
from mcp_proton.admin.setting_up.wanted import Wanted, account_name, check, require
from mcp_proton.admin.setting_up.writing import Prepared, agreed, tell, write
from mcp_proton.config.values import Kind, Profile, Security
from mcp_proton.domain.complaint import Complaint, Misconfigured
from mcp_proton.imap.login.providers import Name as ProviderName
from mcp_proton.jmap.protocol.endpoint import Auth
from mcp_proton.policy.presets import Preset

app = App(
    name="setup",
    help_epilogue="""At a terminal it asks for what the flags leave open. Nothing is written before
the login worked. Run it again with the name of an account when Bridge was
installed anew: it shows the old and the new certificate and asks for what
changed.

  mcp-proton setup
  mcp-proton setup personal --trust cert.pem
  mcp-proton setup work --kind imap --host imap.example.org
  mcp-proton setup mine --provider gmail --username me@gmail.com
  mcp-proton setup post --kind jmap --url https://jmap.example.org
  mcp-proton setup corp --provider microsoft --username me@example.org \\
    --oauth-client-id 0f8c… --password-file refresh-token.txt
  mcp-proton setup personal --username me@proton.me --password-file - \\
    --trust cert.pem --preset assistant --client hermes

A server that takes no passwords: sign in once with any tool that does the
device or the authorization code flow for a client you registered there. It
gives you a refresh token; hand that over as the password. Access tokens are had
for it, and the next refresh token is stored in its place, so --secret is
keyring or file:PATH. The flags --oauth-… say whom the server knows you as.

Where a password is kept (--secret): keyring, file:PATH (only you can read it),
env:NAME, command:PROGRAM, systemd:NAME. It never stands in config.toml.""",
)


@app.default
async def setup(
    account: Annotated[str | None, Parameter(help="a short name for the account, or one you have, to mend it")] = None,
    /,
    *,
    kind: Annotated[
        Kind | None, Parameter(help="Proton Mail Bridge (the default), any IMAP or any JMAP server")
    ] = None,
    provider: Annotated[
        ProviderName | None, Parameter(help="a mail provider whose servers are well known, instead of --host")
    ] = None,
    host: Annotated[str | None, Parameter(help="the mail server; Bridge is looked for on this machine")] = None,
    port: Annotated[
        int | None,
        Parameter(
            help="its IMAP port; Bridge is looked for from 1143 on", validator=validators.Number(gte=1, lte=65_535)
        ),
    ] = None,
    security: Annotated[Security | None, Parameter(help="for --kind imap; plain only towards this machine")] = None,
    username: Annotated[str | None, Parameter(help="the login name; on Bridge the address it shows")] = None,
    password_file: Annotated[
        Path | None, Parameter(help="its first line is the password ('-': standard input)", allow_leading_hyphen=True)
    ] = None,
    secret: Annotated[str | None, Parameter(help="where the password is kept (see below)")] = None,
    trust: Annotated[
        str | None, Parameter(help="the certificate to trust: sha256:… or the file Bridge exports (cert.pem)")
    ] = None,
    preset: Annotated[Preset | None, Parameter(help="what agents may do")] = None,
    recipients: Annotated[
        list[str] | None,
        Parameter(help="whom agents may write to: an address or @domain, may be repeated", negative=""),
    ] = None,
    url: Annotated[str | None, Parameter(help="for --kind jmap: the server's https URL")] = None,
    auth: Annotated[Auth | None, Parameter(help="the secret is a password (basic) or an access token (bearer)")] = None,
    client: Annotated[str | None, Parameter(help="a label for an agent to let in")] = None,
    program: Annotated[Program | None, Parameter(help="the program that agent lives in")] = None,
    profile: Annotated[Profile | None, Parameter(help="which tools that agent is shown")] = None,
    oauth: Renewing | None = None,
    yes: Annotated[bool, Parameter(negative="", help="ask for no confirmation", show_default=False)] = False,
    json: AsJson = False,
) -> Exit:
    """Connect a mail account and choose what agents may do."""
    wanted = Wanted(
        kind, host, port, security, username, secret, password_file, trust, preset, tuple(recipients or ()), client,
        program, profile, yes, url, auth, provider, oauth or Renewing(),
    )  # fmt: skip
    prepared = await prepare(account, wanted)
    if interactive() and not yes and not agreed(prepared):
        raise SaidNoError
    await write(prepared)
    return tell(prepared, Printer(as_json=json))


async def prepare(account: str | None, wanted: Wanted) -> Prepared:
    """Ask, look, log in. Writes nothing; raises whatever makes it impossible to go on."""
    check(wanted)
    if wanted.trust:
        server.named(wanted.trust)
    settings = bootstrap.settings(os.environ)
    policy_file = settings.policy_file()
    policy = policy_file.current()
    if policy_file.problem:
        raise _broken_policy(settings)
    name = account_name(account, wanted, settings.config)
    before = settings.config.accounts.get(name)
    renewing.check_kind(wanted, wanted.kind_of(before))
    place = renewing.place(wanted, before) or login.default_place(name, settings.folders)
    ours = place.partition(":")[0] in KEPT_BY_US
    require(
        wanted,
        before,
        password_known=not ours or await login.known(name, place),
        preset_known=access.preset_known(policy, name) is not None,
    )
    found = await server.find(wanted, before)
    if found.kind is Kind.BRIDGE:
        say(f"{found} answers.")
    pin = await server.trust(found, wanted, before)
    proved = await login.prove(name, found, pin, wanted, before, settings.folders)
    say("The login works.")
    alone = set(settings.config.accounts) <= {name}
    choice = access.choose_preset(name, wanted, policy, new=before is None, alone=alone)
    preset = choice.preset if choice else access.preset_known(policy, name)
    client = access.admit(name, wanted, settings.config, preset, new=before is None)
    return Prepared(name, before, proved, choice, client)


def _broken_policy(settings: bootstrap.Settings) -> Misconfigured:
    """Return the complaints about policy.toml: nothing can be written into a file that cannot be read."""
    try:
        bootstrap.read_policy(settings, settings.folders.policy_file)
    except Misconfigured as error:
        return error
    return Misconfigured([Complaint((), "cannot be used", settings.folders.policy_file.name)])
