"""request → Plan, by walking the field types. The plan's effects never exceed what the operation declared."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Defect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox
from mcp_proton.domain.operation import Finer, Operation, Request
from mcp_proton.domain.plan import Impact, Plan, Scope

from .fields import Mark, marked


async def plan(operation: Operation, request: Request, ctx: Context) -> Plan:
    """Return what `request` would do. `Stale`/`NotFound` for scopes that do not exist, `Defect` for an undeclared effect."""
    finer = await operation.plan(request, ctx) if operation.plan else Finer()
    effects = operation.effects if finer.effects is None else finer.effects
    planned = await scoped(request, effects, ctx)
    planned = planned | Plan(impacts=finer.impacts, review=finer.review)
    undeclared = planned.effects - operation.effects
    if undeclared:
        raise Defect(f"`{operation.name}` planned effects it does not declare: {', '.join(sorted(undeclared))}")
    return planned


async def scoped(request: Request, effects: frozenset[Effect], ctx: Context) -> Plan:
    """Return the plan of `effects` on every scope that the request's fields name."""
    account: str | None = None
    handles: list[Handle] = []
    references: list[str] = []
    recipients: list[str] = []
    paths: list[Path] = []
    for mark, _, value in marked(request):
        values = value if isinstance(value, tuple) else (value,)
        match mark:
            case Mark.ACCOUNT:
                account = value
            case Mark.HANDLE:
                handles.extend(Handle.parse(one) for one in values)
            case Mark.MAILBOX:
                references.extend(values)
            case Mark.RECIPIENT:
                recipients.extend(values)
            case Mark.PATH:
                paths.extend(_real(one) for one in values)
    scopes = {_scope(await ctx.mailbox_of(handle)) for handle in handles}
    if references:
        holder = ctx.account(account)
        scopes |= {_scope(await ctx.mailbox(holder, reference)) for reference in references}
    if effects and not scopes and has_account(request):
        scopes = {Scope(account=ctx.account(account))}
    impacts = frozenset(Impact(effect, scope) for effect in effects for scope in scopes or {Scope()})
    return Plan(impacts=impacts, targets=tuple(handles), recipients=tuple(recipients), paths=tuple(paths))


def _real(path: Path) -> Path:
    """Return where a path leads: folders are compared by that, so that a link gets around no boundary."""
    return Path(os.path.realpath(path.expanduser()))


def has_account(request: Request) -> bool:
    """Whether the request is about one account (named or by default)."""
    return any(Mark.ACCOUNT in info.metadata for info in type(request).model_fields.values())


def _scope(mailbox: Mailbox) -> Scope:
    return Scope(mailbox.account, mailbox.path, mailbox.role)


def digest(operation: Operation, planned: Plan, body: str) -> str:
    """Bind a decision to action, scopes, message set, recipients, files and content (P-35)."""
    impacts = sorted([i.effect, i.scope.account, i.scope.mailbox, i.scope.role] for i in planned.impacts)
    bound = [
        operation.name,
        impacts,
        [str(handle) for handle in planned.targets],
        list(planned.recipients),
        [str(path) for path in planned.paths],
        body,
    ]
    return hashlib.sha256(json.dumps(bound, separators=(",", ":")).encode()).hexdigest()


def summary(operation: Operation, planned: Plan) -> str:
    """Say in our own words what would happen: no word of it comes from a message or from the agent."""
    parts = [operation.name.replace("_", " ")]
    if planned.targets:
        parts.append(f"{len(planned.targets)} message{'s' if len(planned.targets) > 1 else ''}")
    if planned.recipients:
        parts.append(f"to {len(planned.recipients)} recipient{'s' if len(planned.recipients) > 1 else ''}")
    places = sorted({f"{i.scope.account}/{i.scope.mailbox}" for i in planned.impacts if i.scope.mailbox})
    if places:
        parts.append("in " + ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else ""))
    return ": ".join([parts[0], ", ".join(parts[1:])]) if parts[1:] else parts[0]
