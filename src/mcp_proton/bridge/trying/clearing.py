"""Taking away what a trial made, and nothing else: what bears its token, wherever it has come to lie.

Any step may have been the last one of a process that was killed. So nothing is taken for granted but the trace that was
written down before: our message is looked for by its identity, or by its token where it has none yet; a mailbox is ours
by its whole path, and goes only when it is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict, MailError
from mcp_proton.domain.mail import Flag, Role
from mcp_proton.domain.ports import FlagChange, Page
from mcp_proton.domain.query import All, Contains, Field

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.domain.findings import Findings, Trace
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.query import Query

_ROUNDS = 8
_BUDGET = 120.0


@dataclass(frozen=True, slots=True)
class Names:
    """The mailboxes of a trial. `spelt` is the second folder before it is renamed."""

    token: str

    @property
    def first(self) -> str:
        """Where the message is put."""
        return f"Folders/mcp-proton check {self.token}"

    @property
    def second(self) -> str:
        """Where it is moved to."""
        return f"{self.first} b"

    @property
    def spelt(self) -> str:
        """The second one, as it is made."""
        return f"{self.first} c"

    @property
    def label(self) -> str:
        """What it is labelled with: no folder has the same name, which Proton's test server would refuse."""
        return f"Labels/mcp-proton check {self.token} l"

    @property
    def paths(self) -> tuple[str, ...]:
        """All that may have been made."""
        return self.first, self.second, self.spelt, self.label


def word_of(path: str, names: Names) -> str:
    """Our own word for a mailbox."""
    ours = {names.first: "first", names.second: "second", names.label: "label", "All Mail": "all"}
    return ours.get(path, path.lower())


class Clearing:
    """`settle` gives Bridge the time that its events take."""

    def __init__(
        self,
        backend: BridgeBackend,
        findings: Findings,
        lease: Callable[[], AbstractAsyncContextManager[object]],
        settle: Callable[[], Awaitable[None]],
    ) -> None:
        self._backend, self._findings, self._lease, self._settle = backend, findings, lease, settle

    async def all(self) -> list[str]:
        """Take it all away; return what could not be, in words for the owner. Raises what the account ended with.

        What is left is told once; the trace is forgotten then, since no further start would fare better.
        """
        trace = self._findings.trace(self._backend.name)
        if trace is None:
            return []
        names = Names(trace.token)
        left = await self._message_gone(trace, names)
        left += await self._mailboxes_gone(names)
        await self._findings.forget(self._backend.name)
        return left

    async def _message_gone(self, trace: Trace, names: Names) -> list[str]:
        identity = trace.mark or await self._identity(names)
        if identity is None:
            return []
        boxes = {box.path: box for box in await self._backend.mailboxes(fresh=True)}
        known = self._findings.of(self._backend.name, trace.version) or {}
        keeps = "destroy" in known and not known["destroy"].proved
        shown: Mapping[str, Handle] = {}
        for _ in range(_ROUNDS):
            shown = await self._backend.shown(identity)
            roles = {boxes[path].role for path in shown if path in boxes}
            if not shown or (keeps and Role.TRASH in roles):
                break
            async with self._lease():
                await self._a_step_on(shown, boxes)
            await self._settle()
        return [f"its message is in {path}" for path in sorted(shown)[:1]]

    async def _a_step_on(self, shown: Mapping[str, Handle], boxes: Mapping[str, Mailbox]) -> None:
        """What it takes next on the way to nothing: no label, no star, in Trash, destroyed."""
        by_role = {boxes[path].role: handle for path, handle in shown.items() if path in boxes}
        trash = next(box for box in boxes.values() if box.role is Role.TRASH)
        if Role.LABEL in by_role:
            await self._backend.unlabel([by_role[Role.LABEL]])
        elif Role.STARRED in by_role:
            await self._backend.set_flags([by_role[Role.STARRED]], FlagChange(remove=frozenset({Flag.FLAGGED})))
        elif Role.TRASH in by_role:
            await self._backend.destroy([by_role[Role.TRASH]])
        elif by_role.keys() - {Role.ALL}:
            place = next(role for role in by_role if role is not Role.ALL)
            await self._backend.move([by_role[place]], trash)
        else:
            await self._backend.reattach([by_role[Role.ALL]], trash)

    async def _identity(self, names: Names) -> str | None:
        """Our message, where the process ended before it was known: in our folder, or wherever it was put instead."""
        boxes = await self._backend.mailboxes(fresh=True)
        folder = next((box for box in boxes if box.path == names.first), None)
        if folder is None:
            return None
        await self._settle()  # what was on its way when the process ended arrives yet
        found = await self.found_in(self._backend, folder, names)
        everything = next((box for box in boxes if box.role is Role.ALL), None)
        if found is None and everything is not None:
            wanted = Contains(Field.SUBJECT, names.token)
            found = await self.found_in(self._backend, everything, names, wanted)
        return found

    @staticmethod
    async def found_in(backend: BridgeBackend, box: Mailbox, names: Names, wanted: Query | None = None) -> str | None:
        """The identity of the message of a mailbox that bears the token. Another one in the same mailbox is not ours."""
        rows = (await backend.search([box], wanted or All(), Page(limit=50, budget=_BUDGET))).rows
        ours = [row.handle for row in rows if names.token in (row.message_id or "") and names.token in row.subject]
        return next(iter((await backend.identify(ours)).values()), None) if ours else None

    async def _mailboxes_gone(self, names: Names) -> list[str]:
        left: list[str] = []
        boxes: Sequence[Mailbox] = await self._backend.mailboxes(fresh=True)
        for box in [box for box in boxes if box.path in names.paths]:
            try:
                async with self._lease():
                    await self._backend.remove(box)
            except Conflict:
                left.append(f"{box.path} holds something, so it was left")
            except MailError as error:
                if error.retry:
                    raise
                left.append(f"{box.path}: {error.message}")
        return left
