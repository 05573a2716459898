"""What `mcp-proton doctor` looks at for one account: password, server, certificate, login, sync, and the way out.

The checks stand in the order in which a login needs them; after the first that fails the rest could not be looked at.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.admin.check import Check, State, fix, ok
from mcp_proton.admin.setting_up import trial
from mcp_proton.config.values import Kind
from mcp_proton.domain.errors import AuthFailed, MailError, Untrusted
from mcp_proton.storage.vault import Vault

if TYPE_CHECKING:
    from mcp_proton.admin.setting_up.trial import Trial
    from mcp_proton.config.tables import Account
    from mcp_proton.domain.ports import Health

_LOGIN_FAILED = frozenset({AuthFailed.code, "auth_expired", "upstream_auth_rejected", "no_mail_account"})
_STEPS = ("server", "certificate", "login", "version", "sync", "sending")


async def account(name: str, one: Account) -> list[Check]:
    """Look at one account. One login for reading and one for sending, nothing marked, nothing sent."""
    if one.of_caller:
        return [
            Check(f"{name}: password", State.SKIP, "whoever asks over the service shows a token; nothing is stored")
        ]
    try:
        vault = Vault(bootstrap.secret_places({name: one}), os.environ)
        await vault.secret(name)
    except AuthFailed as error:
        stopped = fix(f"{name}: password", error.message, _mend(name, error.next), repair=name)
        return [stopped, *(Check(f"{name}: {step}", State.SKIP, "not looked at") for step in _STEPS)]

    found = await trial.log_in(name, one, vault, bootstrap.findings(bootstrap.settings(os.environ)))
    kept = ok(f"{name}: password", f"found ({one.secret.partition(':')[0]})")
    return [kept, *(_well(name, one, found) if found.health.connected else await _ill(name, one, found.health))]


def _well(name: str, one: Account, found: Trial) -> list[Check]:
    return [
        ok(f"{name}: server", f"answers on {_where(one)}"),
        ok(f"{name}: certificate", _trusted(one)),
        ok(f"{name}: login", f"works, {found.mailboxes} mailboxes"),
        _version(name, one, found),
        _sync(name, found.health),
        _sending(name, one, found),
    ]


async def _ill(name: str, one: Account, health: Health) -> list[Check]:
    """Tell at which step it ended."""
    why = health.why or "it did not go on"
    if health.code == Untrusted.code:
        failed = [ok(f"{name}: server", f"answers on {_where(one)}"), await _certificate(name, one, why)]
    elif health.code in _LOGIN_FAILED:
        failed = [
            ok(f"{name}: server", f"answers on {_where(one)}"),
            ok(f"{name}: certificate", _trusted(one)),
            _login(name, one, why),
        ]
    else:
        failed = [fix(f"{name}: server", why, health.next)]
    return [*failed, *(Check(f"{name}: {step}", State.SKIP, "not looked at") for step in _STEPS[len(failed) :])]


async def _certificate(name: str, one: Account, why: str) -> Check:
    title = f"{name}: certificate"
    if one.kind is Kind.JMAP:
        return fix(title, why, "ask whoever runs the server for a certificate this machine trusts")
    try:
        shown = await trial.certificate(one.host, one.imap, one.protection)
    except MailError:
        return fix(title, why, _mend(name, None), repair=name)
    if one.certificate is None:
        return fix(title, f"{why}; it shows {shown}", _mend(name, None), repair=name)
    what = f"not the one you trusted: trusted {one.certificate}, shown {shown}"
    if one.kind is Kind.BRIDGE:
        following = (
            f"if you installed Bridge anew, run `mcp-proton setup {name}` and compare it; if not, find out who answers"
        )
    else:
        following = f"ask your mail provider whether it changed, then run `mcp-proton setup {name}`"
    return fix(title, what, following, repair=name)


def _where(one: Account) -> str:
    return one.address if one.kind is Kind.JMAP else str(bootstrap.endpoint(one))


def _login(name: str, one: Account, why: str) -> Check:
    if one.kind is Kind.BRIDGE:
        following = (
            "look into Bridge: is the account signed in and done starting? A Bridge that was installed anew has another "
            f"password: run `mcp-proton setup {name}`"
        )
    else:
        following = f"if the password changed, run `mcp-proton setup {name}`"
    return fix(f"{name}: login", why, following, repair=name)


def _version(name: str, one: Account, found: Trial) -> Check:
    title = f"{name}: version"
    version = found.health.version if one.kind is Kind.BRIDGE else ""
    server = (
        f"Proton Mail Bridge {version}"
        if version
        else "not Bridge's"
        if one.kind is Kind.BRIDGE
        else f"any {one.kind.value.upper()} server"
    )
    if one.kind is Kind.BRIDGE and not version:
        return Check(title, State.NOTE, "what answers does not say that it is Proton Mail Bridge")
    if not found.unverified and not found.health.disproved:
        return ok(title, f"{server}: all that is offered was verified")
    if found.health.disproved:
        disproved = f"seen to do something else, so refused: {', '.join(found.health.disproved)}"
        return Check(title, State.NOTE, f"{server}: {disproved}", "file and delete that mail in a Proton app")
    following = (
        f"`mcp-proton doctor {name} --prove` tries it; until then it is asked about" if found.health.unproved else None
    )
    return Check(title, State.NOTE, f"{server}: not verified here: {', '.join(found.unverified)}", following)


def _sync(name: str, health: Health) -> Check:
    title = f"{name}: sync"
    if health.syncing:
        why = health.why or "Bridge still takes in the mailbox"
        return Check(title, State.NOTE, why, "until that is over mail may be missing, and deleting and bulk wait")
    return ok(title, "nothing is being taken in" if health.syncing is False else "no sign of one going on")


def _sending(name: str, one: Account, found: Trial) -> Check:
    title = f"{name}: sending"
    where = bootstrap.submission(one)
    if found.sending is None:
        return ok(title, "switched off in config.toml: mail is read, filed and drafted")
    if found.sending_trouble is None:
        return ok(title, f"a login works on {where}")
    following = (
        "look into Bridge's settings for its SMTP port, and set `smtp_port` in config.toml"
        if one.kind is Kind.BRIDGE
        else "set `smtp_host`, `smtp_port` and `smtp_security` in config.toml, or `sending = false`"
    )
    return fix(title, f"{found.sending_trouble.message} (on {where})", following)


def _trusted(one: Account) -> str:
    return "the one you trust" if one.certificate else "vouched for by an authority this machine trusts"


def _mend(name: str, following: str | None) -> str:
    return (
        following.replace("`mcp-proton setup`", f"`mcp-proton setup {name}`")
        if following
        else f"run `mcp-proton setup {name}`"
    )
