"""What `mcp-proton doctor` looks at on this machine: files and who may read them, the rules, the store, the clients.

Every check says what it found and what to do about it; none shows a secret, a mail address or a server's own words.
"""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.admin.check import Check, State, fix, ok
from mcp_proton.admin.programs import own_program
from mcp_proton.admin.setting_up.access import preset_known
from mcp_proton.domain.caller import owner
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.plan import Scope
from mcp_proton.policy import matrix
from mcp_proton.policy.reasons import NotChosen
from mcp_proton.policy.rules import Verdict
from mcp_proton.services.operations.journal import OperationsList

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.bootstrap import Settings
    from mcp_proton.config.folders import Folders
    from mcp_proton.policy.model import Policy


def files(found: Settings | Misconfigured, folders: Folders) -> Iterator[Check]:
    """Look at config.toml: whether it can be used, and who may read it."""
    if isinstance(found, Misconfigured):
        for complaint in found.complaints:
            yield fix("config.toml", str(complaint), found.next)
    elif not folders.config_file.exists():
        yield fix("config.toml", "is not there yet", "run `mcp-proton setup`")
    else:
        counts = (len(found.config.accounts), "account"), (len(found.config.clients), "client")
        yield ok("config.toml", ", ".join(_counted(number, thing) for number, thing in counts))
    yield from _permissions(folders)


def _permissions(folders: Folders) -> Iterator[Check]:
    if os.name != "posix":
        return
    private = (folders.config_file, folders.policy_file, folders.state, folders.database, folders.state / "secrets")
    wide = [path for path in private if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    for path in wide:
        mode = stat.S_IMODE(path.stat().st_mode)
        narrow = "700" if path.is_dir() else "600"
        yield fix("permissions", f"{path} is open to others (mode {mode:04o})", f"chmod {narrow} {path}")
    if not wide:
        yield ok("permissions", "your files are yours alone")


async def rules(found: Settings) -> Check:
    """Look at policy.toml: in force, or the rules before it, or none chosen."""
    if not found.folders.policy_file.exists():
        return fix(
            "policy.toml", "no preset is chosen, so agents may do nothing", "run `mcp-proton policy preset assistant`"
        )
    policy = await bootstrap.policy_in_force(found)
    if policy.problem:
        kept = "the rules before your latest edit hold" if policy.current.presets else "nothing is allowed meanwhile"
        return fix(
            "policy.toml", f"{policy.problem}; {kept}", "mend it; `mcp-proton config check` says when it is right"
        )
    if policy.current.all_paused:
        return Check("policy.toml", State.NOTE, "all agents are paused")
    preset = preset_known(policy.current, "")
    return ok("policy.toml", f"in force, preset {preset}" if preset else "in force")


async def store(found: Settings) -> Check:
    """Open the state folder and read the journal once."""
    try:
        async with bootstrap.real(os.environ) as running:
            told = await running.service.submit(owner(), OperationsList(limit=1))
    except OSError as error:
        return fix("store", f"{error.filename}: {(error.strerror or 'cannot be used').lower()}", _ROOM)
    except MailError as error:
        return fix("store", error.message, error.next)
    if told.status != "ok":
        return fix("store", told.why or "the journal cannot be read", told.next)
    return ok("store", f"the journal can be read and written ({found.folders.state})")


_ROOM = "see that there is room on the disk and that the state folder can be written"


async def clients(found: Settings) -> list[Check]:
    """Look at each client: whether it is let in anywhere, and at the program that clients start."""
    policy = (await bootstrap.policy_in_force(found)).current
    listed = [_client(found, policy, name) for name in found.config.clients]
    none = Check("clients", State.NOTE, "no agent is let in yet", "run `mcp-proton clients add LABEL`")
    return [*(listed or [none]), _program()]


def _client(found: Settings, policy: Policy, name: str) -> Check:
    one, title = found.config.clients[name], f"client {name}"
    accounts = one.accounts if one.accounts is not None else list(found.config.accounts)
    cells = matrix.matrix(policy, [name], [Scope(account) for account in accounts] or [Scope()], datetime.now(UTC))
    if any(isinstance(cell.reason, NotChosen) for cell in cells):
        return fix(title, "no preset is chosen for it", f"run `mcp-proton policy preset assistant --client {name}`")
    if name in policy.revoked_clients or name in policy.paused_clients:
        return Check(title, State.NOTE, "you paused or revoked it")
    open_to = {cell.effect for cell in cells if cell.verdict is not Verdict.DENY}
    if not open_to:
        return fix(title, "your rules deny it everything", f"`mcp-proton policy explain {name} list` says why")
    words = [effect.value for effect in Effect if effect in open_to]
    return ok(title, f"profile {one.profile.value}, may {', '.join(words)}")


def _program() -> Check:
    path = Path(own_program())
    if path.is_absolute() and os.access(path, os.X_OK):
        return ok("program", f"agents start {path}")
    return fix(
        "program",
        "the program `mcp-proton` is not where this Python or your PATH has it, so agents cannot start it",
        "install mcp-proton, then print your clients' configuration anew: `mcp-proton clients config LABEL`",
    )


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
