"""Call: the context of one request. What is not in the plan cannot be reached from a handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from mcp_proton.domain.caller import Caller
from mcp_proton.domain.consequences import Consequence, Evidence
from mcp_proton.domain.context import Act, Known, Outgoing, Right, Snapshot
from mcp_proton.domain.documents import Documents
from mcp_proton.domain.draft_notes import DraftNotes
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict, Defect, Invalid, NotFound, OutOfBounds, Stale, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.lease import Lease
from mcp_proton.domain.links import Links
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Result
from mcp_proton.domain.outcome import Fate, Outcome, Record, Tally
from mcp_proton.domain.plan import Doubt, Impact, Plan, ReviewLine, Scope
from mcp_proton.domain.ports import Artifacts, Clock, Journal, MailBackend
from mcp_proton.domain.remote import Remote
from mcp_proton.domain.sendings import Sending, Sendings
from mcp_proton.domain.transfer import MailFiles
from mcp_proton.policy.decide import decide, judge, standing
from mcp_proton.policy.model import Policy
from mcp_proton.policy.rules import Verdict
from mcp_proton.services.acting.batches import Batch
from mcp_proton.services.door.world import World
from mcp_proton.services.writing.dispatching import Dispatch

if TYPE_CHECKING:
    from mcp_proton.services.door.service import MailService

Progress = Callable[[int, int | None, str], Awaitable[None]]
_ROLE_WORDS = {role.value: role for role in Role} | {"junk": Role.SPAM, "all mail": Role.ALL, "deleted": Role.TRASH}


class Call:
    """The world as one call sees it (the `Context` of handlers)."""

    def __init__(
        self, world: World, caller: Caller, policy: Policy, door: MailService, progress: Progress | None = None
    ) -> None:
        self.world = world
        self.caller = caller
        self.policy = policy
        self.reachable: frozenset[str] | None = None
        self.planned: Plan | None = None
        self.record: Record | None = None
        self.tally: Tally | None = None
        self.found: Snapshot | None = None
        self.foreseen: dict[tuple[str, str, Role, Role | None], Consequence] = {}
        self.door = door
        self._progress = progress

    @property
    def clock(self) -> Clock:
        """The service's clock."""
        return self.world.clock

    @property
    def artifacts(self) -> Artifacts:
        """The managed store."""
        return self.world.artifacts

    @property
    def files(self) -> MailFiles:
        """The owner's folders for mail in files."""
        if self.world.files is None:
            raise OutOfBounds("no folder is open for mail in files")
        return self.world.files

    @property
    def remote(self) -> Remote:
        """Files on the internet."""
        if self.world.remote is None:
            raise Unsupported("files are not fetched from the internet here", code="no_fetching")
        return self.world.remote

    @property
    def links(self) -> Links:
        """One-time links, where the service is reached over HTTP."""
        if self.world.links is None:
            raise Unsupported("there are no links here", code="links_need_http")
        return self.world.links

    @property
    def journal(self) -> Journal:
        """The journal; records are scoped by the caller given to it."""
        return self.world.journal

    @property
    def sendings(self) -> Sendings:
        """What is remembered of mail that was about to leave."""
        return self.world.sendings

    @property
    def draft_notes(self) -> DraftNotes:
        """What servers do not keep of drafts."""
        return self.world.draft_notes

    @property
    def documents(self) -> Documents | None:
        """The readers of documents; None where there are none."""
        return self.world.documents

    @property
    def spool(self) -> Path | None:
        """Where mail is held on its way."""
        return self.world.settings.spool

    @property
    def timezone(self) -> ZoneInfo:
        """The owner's time zone: dates without an offset are read in it."""
        return self.world.settings.timezone

    def accounts(self) -> Sequence[str]:
        """Return the accounts this caller may know of: its own, and in them at least one effect it is not denied."""
        return self._accounts

    @cached_property
    def _accounts(self) -> Sequence[str]:
        """As they are when they are first asked for: what is looked up in a file each time, and many times a call."""
        return [name for name in self.world.accounts.names if self._belongs(name)]

    def account(self, name: str | None) -> str:
        """Resolve an account name, or the default."""
        if name is not None:
            if name in self._accounts:
                return name
            raise NotFound(f"there is no account `{name}`", next="`accounts_list` names the accounts")
        mine = self.accounts()
        default = self.world.accounts.default
        if default in mine:
            return default  # type: ignore[return-value]  # `mine` holds names only
        if len(mine) == 1:
            return mine[0]
        if not mine:
            raise NotFound("there is no account for this client", next="ask the owner to run `mcp-proton setup`")
        raise Invalid("there are several accounts", next="name one: " + ", ".join(mine))

    def backend(self, account: str) -> MailBackend:
        """Return the backend of a planned account. INVARIANT: an account outside the plan is out of reach, and before there
        is a plan one that is not the caller's."""
        if self.reachable is None:
            return self._mine(account)
        if account not in self.reachable:
            raise Defect("an operation reached for an account that its plan does not name")
        return self.world.accounts.backend(account)

    def foresee(self, account: str, verb: str, source: Role, target: Role | None = None) -> Consequence:
        """Ask the account's effect table, and remember what it said."""
        row = self.world.accounts.backend(account).consequences().of(verb, source, target)
        self.foreseen[account, verb, source, target] = row
        return row

    @property
    def doubts(self) -> frozenset[Doubt]:
        """What was foreseen without proof."""
        return frozenset(
            Doubt(account, verb)
            for (account, verb, _, _), row in self.foreseen.items()
            if Evidence.UNVERIFIED in row.evidence
        )

    async def mailboxes(self, account: str) -> Sequence[Mailbox]:
        """Return the account's mailboxes."""
        return await self._mine(account).mailboxes()

    async def mailbox(self, account: str, reference: str) -> Mailbox:
        """Resolve by role word, path or tag, else by path or last name in any case where only one is called so.

        Looks again before it gives up.
        """
        for fresh in (False, True):
            boxes = await self._mine(account).mailboxes(fresh=fresh)
            found = _named(boxes, reference) or self._archive(account, boxes, reference)
            if found is not None:
                return found
        raise NotFound(f"there is no mailbox `{reference}`", next="`mailboxes_list` names them")

    def _archive(self, account: str, boxes: Sequence[Mailbox], reference: str) -> Mailbox | None:
        """All Mail, where there is no Archive and a move there is known to take a message out of the inbox (Gmail)."""
        if reference.strip().lower() != Role.ARCHIVE:
            return None
        box = next((one for one in boxes if one.role is Role.ALL), None)
        if box is not None:
            try:
                self.world.accounts.backend(account).consequences().of("move", Role.INBOX, Role.ALL)
            except Unsupported:
                return None
        return box

    async def mailbox_of(self, handle: Handle) -> Mailbox:
        """Resolve the mailbox of a handle. A foreign account looks like one that does not exist."""
        backend = self._mine(handle.account)
        for fresh in (False, True):
            for box in await backend.mailboxes(fresh=fresh):
                if box.tag == handle.tag:
                    return box
        raise Stale("the mailbox this handle names is gone")

    def allows(self, effect: Effect, account: str, mailbox: Mailbox | None = None) -> bool:
        """Whether the caller could do this there without being asked."""
        return self._verdict(effect, account, mailbox) is Verdict.ALLOW

    def denies(self, effect: Effect, account: str, mailbox: Mailbox | None = None) -> bool:
        """Whether the caller may not do this there at all."""
        return self._verdict(effect, account, mailbox) is Verdict.DENY

    def rights(self, account: str) -> Sequence[Right]:
        """Return what holds for every effect on an account, and where each comes from."""
        if (barred := standing(self.policy, self.caller)) is not None:
            return [Right(effect, barred.verdict.word, barred.source) for effect in Effect]
        scope, now = Scope(account), self.clock.now()
        reasons = {effect: judge(self.policy, self.caller, Impact(effect, scope), now) for effect in Effect}
        return [Right(effect, reason.verdict.word, reason.source) for effect, reason in reasons.items()]

    def _verdict(self, effect: Effect, account: str, mailbox: Mailbox | None) -> Verdict:
        scope = Scope(account, mailbox.path, mailbox.role) if mailbox else Scope(account)
        plan = Plan(impacts=frozenset({Impact(effect, scope)}))
        return decide(self.policy, self.caller, plan, {}, self.clock.now()).verdict

    async def counted(self, account: str) -> Sequence[Mailbox]:
        """Return the account's mailboxes with their counts."""
        return await self._mine(account).mailboxes(counts=True)

    async def earlier(self) -> Sequence[Fate]:
        """How items ended in a process that is gone."""
        return () if self.record is None else await self.world.journal.fates(self.record.id)

    async def batch(
        self,
        handles: Sequence[Handle],
        act: Act,
        what: str,
        *,
        provable: bool = False,
        known: Mapping[Handle, str] | Known | None = None,
        step: int | None = None,
        into: str | None = None,
    ) -> Tally:
        """Act on many messages, a chunk at a time."""
        if self.record is None:
            raise Defect("an operation changes messages without a record")
        batch = Batch(self, self.record, act, provable=provable, known=known, step=step, into=into)
        self.tally = await batch.run(handles, what)
        return self.tally

    def writing(self, account: str) -> AbstractAsyncContextManager[Lease]:
        """Hold the account's lease."""
        return self.world.leases.hold(account)

    async def send(self, mail: Outgoing) -> Sending:
        """Hand one mail over, once."""
        if self.record is None:
            raise Defect("a mail was to be sent without a record")
        return await Dispatch(self, self.record, mail).run()

    async def still_allowed(self) -> None:
        """Raise where the rules, or what is known of the server, say no by now: at once, in the middle too (P-38)."""
        for (account, verb, source, target), row in self.foreseen.items():
            if self.world.accounts.backend(account).consequences().of(verb, source, target).effects != row.effects:
                raise Conflict("what this does on the server is known to be something else by now")
        policy = await self.world.policies.current()
        if policy is self.policy or self.planned is None:
            return
        refused = decide(policy, self.caller, self.planned, {}, self.clock.now()).refusal()
        if refused is not None:
            raise refused
        self.policy = policy

    async def undo(self, operation_id: str) -> Outcome[Result]:
        """Take back what an operation did."""
        return await self.door.undo(self.caller, operation_id)

    async def settled(self, record: Record) -> Record:
        """Look what became of a record."""
        return await self.door.settled(record)

    async def progress(self, done: int, total: int | None, what: str) -> None:
        """Tell whoever listens."""
        if self._progress is not None:
            await self._progress(done, total, what)

    async def decide(self, operation_id: str, *, approve: bool) -> Outcome[Result]:
        """Answer a waiting operation as its owner."""
        return await self.door.decide(self.caller, operation_id, approve=approve)

    async def resume(self, operation_id: str) -> Outcome[Result]:
        """Run an approved operation once."""
        return await self.door.resume(self.caller, operation_id)

    async def shown(self, operation_id: str) -> Sequence[ReviewLine]:
        """Return everything a waiting operation would do."""
        return await self.door.shown(operation_id)

    def _mine(self, account: str) -> MailBackend:
        """Return the backend of an account of the caller's. INVARIANT: any other is not even looked at."""
        return self.world.accounts.backend(self.account(account))

    def _belongs(self, account: str) -> bool:
        return self.caller.accounts is None or account in self.caller.accounts


def _named(boxes: Sequence[Mailbox], reference: str) -> Mailbox | None:
    role = _ROLE_WORDS.get(reference.strip().lower())
    if role is not None and role not in (Role.FOLDER, Role.LABEL, Role.NODE):
        for box in boxes:
            if box.role is role:
                return box
    for box in boxes:
        if reference in (box.path, box.tag):
            return box
    for spelt in ("path", "name"):
        alike = [box for box in boxes if getattr(box, spelt).casefold() == reference.casefold()]
        if alike:
            return alike[0] if len(alike) == 1 else None
    return None
