"""request → Plan, by walking the field types. The plan's effects never exceed what the operation declared."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_proton.domain.context import Context, Snapshot
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Defect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Shorthand
from mcp_proton.domain.plan import Impact, Plan, ReviewLine, Scope
from mcp_proton.domain.web_address import WebAddress
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.services.asking import places
from mcp_proton.services.fields import Mark, marked


async def plan(operation: Operation, request: Request, ctx: Context) -> Plan:
    """Return what `request` would do. `Stale`/`NotFound` for scopes that do not exist, `Defect` for an undeclared effect."""
    finer = await operation.plan(request, ctx) if operation.plan else Finer()
    effects = operation.effects if finer.effects is None else finer.effects
    planned = await scoped(request, effects, ctx)
    review = (*finer.review, *_not_proved(ctx))
    planned = planned | Plan(impacts=finer.impacts, review=review, doubts=ctx.doubts, unfamiliar=finer.unfamiliar)
    undeclared = planned.effects - operation.effects
    if undeclared:
        raise Defect(f"`{operation.name}` planned effects it does not declare: {', '.join(sorted(undeclared))}")
    return planned


async def readying(asked: Operation | Shorthand, request: Request, ctx: Context) -> Plan:
    """Return what getting a request ready touches (expanding and pinning it)."""
    if asked.ready is None:
        return await scoped(request, asked.prepares, ctx, preparing=True) if asked.prepares else Plan()
    finer = await asked.ready(request, ctx)
    planned = await scoped(request, finer.effects or frozenset(), ctx, preparing=True)
    return planned | Plan(impacts=finer.impacts)


def _not_proved(ctx: Context) -> list[ReviewLine]:
    """What the owner must know before answering: that it may come out otherwise."""
    said = "this version of the server was never seen to do it as foreseen; `mcp-proton doctor --prove` tries it"
    return [ReviewLine(f"not proved: {one.verb} in {one.account}", said, risk=True) for one in sorted(ctx.doubts)]


async def scoped(request: Request, effects: frozenset[Effect], ctx: Context, *, preparing: bool = False) -> Plan:
    """Return the plan of `effects` on every scope that the request's fields name. Getting ready touches no destination."""
    named = _Named()
    for mark, _, value in marked(request):
        if not (preparing and mark in _DESTINATIONS):
            named.add(mark, value if isinstance(value, tuple) else (value,))
    scopes = {_scope(await ctx.mailbox_of(handle)) for handle in named.one_of_each_mailbox()}
    if named.places:
        for holder in named.holders(ctx):
            for mark, reference in named.places:
                scopes |= {_scope(box) for box in await _boxes(mark, reference, holder, ctx)}
    if effects and not scopes and has_account(request):
        scopes = {Scope(account=ctx.account(named.account))}
    impacts = frozenset(Impact(effect, scope) for effect in effects for scope in scopes or {Scope()})
    return Plan(
        impacts=impacts,
        targets=tuple(dict.fromkeys(named.handles)),
        recipients=tuple(named.recipients),
        paths=tuple(named.paths),
        hosts=tuple(one.host for one in named.urls),
        review=(
            *(ReviewLine("file or folder", str(path)) for path in named.paths),
            *(ReviewLine("fetched from", str(one), untrusted=True, risk=True) for one in named.urls),
        ),
    )


_DESTINATIONS = frozenset({Mark.DESTINATION, Mark.NEW_FOLDER, Mark.NEW_LABEL, Mark.RECIPIENT})


@dataclass
class _Named:
    """What the fields of a request name."""

    account: str | None = None
    handles: list[Handle] = field(default_factory=list)
    places: list[tuple[Mark, str]] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    urls: list[WebAddress] = field(default_factory=list)

    def add(self, mark: Mark, values: tuple[Any, ...]) -> None:
        match mark:
            case Mark.ACCOUNT:
                self.account = values[0]
            case Mark.HANDLE:
                self.handles.extend(map(Handle.parse, values))
            case Mark.MAILBOX | Mark.DESTINATION | Mark.NEW_FOLDER | Mark.NEW_LABEL:
                self.places.extend((mark, one) for one in values)
            case Mark.RECIPIENT:
                self.recipients.extend(one.email for value in values for one in addresses(value))
            case Mark.PATH:
                self.paths.extend(map(_real, values))
            case Mark.URL:
                self.urls.extend(map(WebAddress.parse, values))

    def one_of_each_mailbox(self) -> Iterable[Handle]:
        return {(handle.account, handle.tag): handle for handle in self.handles}.values()

    def holders(self, ctx: Context) -> Sequence[str]:
        """Return whose mailboxes are meant: those of the account named, else of the messages' own."""
        if self.handles and self.account is None:
            return sorted({ctx.account(handle.account) for handle in self.one_of_each_mailbox()})
        return [ctx.account(self.account)]


async def _boxes(mark: Mark, reference: str, account: str, ctx: Context) -> Sequence[Mailbox]:
    match mark:
        case Mark.DESTINATION:
            return await places.destinations(reference, account, ctx)
        case Mark.NEW_FOLDER:
            return [await places.new_mailbox(reference, Role.FOLDER, account, ctx)]
        case Mark.NEW_LABEL:
            return [await places.new_mailbox(reference, Role.LABEL, account, ctx)]
        case _:
            return [await ctx.mailbox(account, reference)]


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
        list(planned.hosts),
        body,
    ]
    return hashlib.sha256(json.dumps(bound, separators=(",", ":")).encode()).hexdigest()


def summary(operation: Operation, planned: Plan, found: Snapshot | None = None) -> str:
    """Say in our own words what would happen: no word of it comes from a message or from the agent."""
    parts = [operation.name.replace("_", " ")]
    if planned.targets:
        several = f" in {len(planned.targets)} places" if found and found.messages < len(planned.targets) else ""
        parts.append(_many(found.messages if several and found else len(planned.targets), "message") + several)
    if planned.recipients:
        parts.append(f"to {_many(len(planned.recipients), 'recipient')}")
    boxes = sorted({f"{i.scope.account}/{i.scope.mailbox}" for i in planned.impacts if i.scope.mailbox})
    if boxes:
        parts.append("in " + ", ".join(boxes[:3]) + (f" and {len(boxes) - 3} more" if len(boxes) > 3 else ""))
    return ": ".join([parts[0], ", ".join(parts[1:])]) if parts[1:] else parts[0]


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
