"""What agents may do with an account, and which agent is let in: the last questions of `mcp-proton setup`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.admin.asking import SaidNoError, ask, choose, confirm, interactive, say
from mcp_proton.admin.programs import Program, guess, guide, started
from mcp_proton.admin.setting_up.wanted import labelled
from mcp_proton.admin.setting_up.wanted import recipients as listed
from mcp_proton.config.values import Profile
from mcp_proton.policy.presets import Preset

if TYPE_CHECKING:
    from mcp_proton.admin.setting_up.wanted import Wanted
    from mcp_proton.config.tables import Config
    from mcp_proton.policy.model import Policy

MEANINGS = {
    Preset.READER: "list and read mail, nothing else",
    Preset.ASSISTANT: "read, file and draft; sending, deleting for good and files wait for your approval",
    Preset.AUTONOMOUS: "everything, without asking",
    Preset.CUSTOM: "as assistant, changed by your own `[custom]` table in policy.toml",
}
AUTONOMOUS_RISK = (
    "Mail is written by strangers, and an agent can be talked into things by a mail it reads. With `autonomous` such an "
    "agent sends, deletes for good and writes files without you. A limit on whom it may write to keeps your mail from "
    "being sent to a stranger; no rule widens it."
)
_WHOM = "Whom may agents write to? Addresses or @domains, commas between; empty: anybody"


@dataclass(frozen=True)
class Choice:
    """A preset to write: for everything, or for one account where everything has another already."""

    preset: Preset
    account: str | None = None
    recipients: tuple[str, ...] = ()


@dataclass(frozen=True)
class Admitted:
    """A client to write. `profile` and `accounts` are None where they stay as they are."""

    label: str
    program: Program
    profile: Profile | None = None
    accounts: list[str] | None = None


def preset_known(policy: Policy, account: str) -> Preset | None:
    """Return the preset that an account's agents work under already."""
    chosen = {one.account: one.preset for one in policy.presets if one.client is None}
    return chosen.get(account, chosen.get(None))


def choose_preset(account: str, wanted: Wanted, policy: Policy, *, new: bool, alone: bool) -> Choice | None:
    """Ask what agents may do; None: as it is. An account that was there before keeps its preset unless a flag says so.

    The first choice holds for everything; where there are other accounts a later one holds for this account.
    """
    chosen = {one.account: one.preset for one in policy.presets if one.client is None}
    current = preset_known(policy, account)
    preset = wanted.preset or _ask_preset(current, new=new)
    if preset is None or (preset is current and not wanted.recipients):
        return None
    recipients = tuple(one for text in wanted.recipients for one in listed(text))
    if preset is Preset.AUTONOMOUS:
        recipients = _warned(wanted, limited=any(one.recipients is not None for one in policy.fences))
    everywhere = None not in chosen or (alone and account not in chosen)
    return Choice(preset, None if everywhere else account, recipients)


def _ask_preset(current: Preset | None, *, new: bool) -> Preset | None:
    if current is not None and not (new and interactive()):
        return None
    say("", "What may agents do with this mail?")
    options = {one.value: meaning for one, meaning in MEANINGS.items()}
    default = (current or Preset.ASSISTANT).value
    return Preset(choose("Preset", options, flag="--preset", default=default))


def _warned(wanted: Wanted, *, limited: bool) -> tuple[str, ...]:
    """Explain what autonomous risks and offer a limit (P-23). Raises unless the owner still wants it."""
    say("", AUTONOMOUS_RISK)
    recipients = tuple(one for text in wanted.recipients for one in listed(text))
    if limited and not recipients:
        say("The limit on recipients that is in your policy.toml stays.")
    elif not recipients and not wanted.yes:
        recipients = listed(ask(_WHOM, flag="--recipients", check=lambda text: " ".join(listed(text))))
    if not wanted.yes and not confirm("Choose autonomous?", flag="--yes"):
        raise SaidNoError
    return recipients


def admit(account: str, wanted: Wanted, config: Config, preset: Preset | None, *, new: bool) -> Admitted | None:
    """Ask which agent to let in; None: nobody. A client that is there already keeps its profile and gets the account."""
    if wanted.client:
        label = wanted.client
    elif interactive() and new and not config.clients:
        say("")
        label = ask("A label for the agent you let in (empty: nobody yet)", flag="--client", check=_label_or_nothing)
    else:
        return None
    if not label:
        return None
    program = wanted.program or guess(label) or _ask_program()
    listed = config.clients.get(label)
    if listed is None:
        usual = Profile.READER if preset is Preset.READER else Profile.CORE
        return Admitted(label, program, wanted.profile or usual)
    more = None if listed.accounts is None or account in listed.accounts else [*listed.accounts, account]
    return Admitted(label, program, wanted.profile, more)


def _label_or_nothing(text: str) -> str:
    return labelled(text) if text else ""


def _ask_program() -> Program:
    if not interactive():
        return Program.OTHER
    options = {one.value: guide(one, started("")).place for one in Program}
    return Program(choose("Which program is it?", options, flag="--program", default=Program.OTHER.value))
