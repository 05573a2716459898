"""`mcp-proton doctor --prove`: tries on the owner's account what this version of Bridge really does to mail (N-8)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.admin.asking import SaidNoError, confirm, need_terminal, say
from mcp_proton.admin.check import Check, State, fix, ok
from mcp_proton.admin.world import known_account
from mcp_proton.config.values import Kind
from mcp_proton.domain.errors import MailError, Unsupported

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.bridge.trying.canary import Trial

_FLAG = "--yes"


async def prove(account: str | None, *, yes: bool) -> list[Check]:
    """Try one account, or all on Bridge, one after the other. Raises `NotFound` or `Unsupported` for one that cannot be."""
    names = _on_bridge(account)
    if not yes:
        question = f"Try it on {', '.join(names)} now?"
        need_terminal(question, _FLAG)
        say(
            "One message that says what it is will be made in a folder of its own, starred, labelled, moved, unlabelled and",
            "deleted for good, and so will the folders and the label made for it. Nothing else is touched. Bridge needs most",
            "of a minute after each step, so it takes about ten minutes for an account; it can be stopped at any time.",
        )
        if not confirm(question, flag=_FLAG):
            raise SaidNoError
    found: list[Check] = []
    async with bootstrap.real(os.environ) as running:
        for name in names:
            found += await _one(running, name)
    return found


def _on_bridge(account: str | None) -> Sequence[str]:
    settings = bootstrap.settings(os.environ)
    if account is not None and known_account(settings, account).kind is not Kind.BRIDGE:
        raise Unsupported(
            f"account `{account}` is not on Bridge, and its server does what the standards say", next="nothing was done"
        )
    names = [name for name, one in settings.config.accounts.items() if one.kind is Kind.BRIDGE]
    if not names:
        raise Unsupported("there is no account on Bridge", next="nothing was done")
    return [account] if account is not None else names


async def _one(running: bootstrap.Running, name: str) -> list[Check]:
    try:
        async with running.trials.of(name, lambda step: say(f"  {name}: {step}")) as canary:
            return _told(name, await canary.fly())
    except MailError as error:
        return [fix(f"{name}: trial", error.message, error.next)]


def _told(name: str, trial: Trial) -> list[Check]:
    """A line a verb, the latest finding of each; then why it stopped, and what was left."""
    latest = {one.verb: one for one in trial.findings}
    told = [
        ok(f"{name}: {one.verb}", f"does what is foreseen on Bridge {trial.version}")
        if one.proved
        else fix(f"{name}: {one.verb}", one.why, "it is refused from now on; look at your mail in a Proton app")
        for one in latest.values()
    ]
    if trial.stopped and all(one.proved for one in latest.values()):
        told.append(Check(f"{name}: trial", State.FIX, f"stopped: {trial.stopped}", "try it again in a few minutes"))
    return told + [
        Check(f"{name}: left", State.FIX, line, "take it away in a Proton app: it was made by this trial")
        for line in trial.left
    ]
