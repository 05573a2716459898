"""The mailboxes of an account: one request tells paths, roles and totals at once (RFC 8621 §2)."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid, MailError, Stale
from mcp_proton.domain.mail import UNIQUE_ROLES, Mailbox, Role
from mcp_proton.imap.roles import arranged
from mcp_proton.jmap.errors import MethodFailed, ProtocolViolation
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

FRESH = 60.0
"""seconds a list is good for"""
LASTING = 3_600.0
"""seconds for which a list is good enough to send by"""
MOST = 10_000
DEEPEST = 100
DELIMITER = "/"
STAND_IN = "\N{DIVISION SLASH}"
"""shown where a name holds the delimiter"""
PROPERTIES = ("id", "name", "parentId", "role", "totalEmails", "unreadEmails", "isSubscribed", "myRights")
LISTING = Call("Mailbox/get", {"ids": None, "properties": PROPERTIES})
_ROLES = {
    "all": Role.ALL,
    "archive": Role.ARCHIVE,
    "drafts": Role.DRAFTS,
    "flagged": Role.STARRED,
    "inbox": Role.INBOX,
    "junk": Role.SPAM,
    "sent": Role.SENT,
    "trash": Role.TRASH,
}


class Mailboxes:
    """The list of one account. `labels` is the path below which mailboxes are labels, where the owner named one."""

    def __init__(self, account: str, client: Client, labels: str | None, fresh: float = FRESH) -> None:
        self._account, self._client, self._labels, self._good_for = account, client, labels, fresh
        self._listed: list[Mailbox] = []
        self.forget()

    async def all(self, *, counts: bool = False, fresh: bool = False) -> list[Mailbox]:
        """All mailboxes, parents first; with their totals where `counts`."""
        if fresh or counts or self._is_older_than(self._good_for):
            (answer,) = await self._client.demand(LISTING)
            self._learn(answer)
        return list(self._listed) if counts else self._uncounted()

    async def lasting(self) -> list[Mailbox]:
        """As they were listed within the last hour, for where a mistake is refused by the server: ids last for ever."""
        return await self.all() if self._is_older_than(LASTING) else self._uncounted()

    async def along(self, *calls: Call, changes: bool = False) -> list[Object | MethodFailed]:
        """`Client.ask`, which lists the mailboxes in the same request where that is due anyway."""
        due = self._is_older_than(self._good_for) and len(calls) < (await self._client.limits()).calls
        answers = await self._client.ask(*calls, *([LISTING] if due else ()), changes=changes)
        if due and not isinstance(listed := answers.pop(), MethodFailed):
            with suppress(MailError):  # what cannot be read is asked for again by whoever needs it
                self._learn(listed)
        return answers

    def _uncounted(self) -> list[Mailbox]:
        return [replace(box, total=None, unread=None) for box in self._listed]

    def forget(self) -> None:
        """What was listed holds no more: it is asked for when it is needed next."""
        self._at = float("-inf")

    def _is_older_than(self, seconds: float) -> bool:
        return time.monotonic() - self._at > seconds

    def _learn(self, answer: Object) -> None:
        self._listed = arranged(_mailboxes(self._account, values.sequence(answer.get("list")), self._labels))
        self._at = time.monotonic()

    async def of(self, handle: Handle) -> Mailbox:
        """The mailbox a handle names. Raises `Invalid` for another account's, `Stale` where it is gone."""
        if handle.account != self._account:
            raise Invalid("this handle belongs to another account", code="invalid_handle")
        for fresh in (False, True):
            for box in await self.all(fresh=fresh):
                if box.tag == handle.tag:
                    return box
        raise Stale("the mailbox this handle names is gone")


def _mailboxes(account: str, told: Sequence[object], labels: str | None) -> list[Mailbox]:
    if len(told) > MOST:
        raise ProtocolViolation("the mail server lists more mailboxes than we are ready to hold")
    by_id: dict[str, Object] = {}
    for one in told:
        found = values.mapping(one)
        by_id[values.identifier(found.get("id"))] = found
    taken: set[Role] = set()
    made = []
    for box_id, found in by_id.items():
        path = _path(box_id, by_id)
        role = _role(values.text(found.get("role")), taken)
        if role is Role.FOLDER and labels is not None:
            role = Role.LABEL if path.startswith(labels + DELIMITER) else Role.NODE if path == labels else role
        made.append(_mailbox(account, box_id, path, role, found))
    return made


def _mailbox(account: str, box_id: str, path: str, role: Role, found: Object) -> Mailbox:
    rights = found.get("myRights")
    readable = not isinstance(rights, dict) or rights.get("mayReadItems") is not False
    return Mailbox(
        account=account,
        id=box_id,
        path=path,
        role=role,
        delimiter=DELIMITER,
        selectable=readable and role is not Role.NODE,
        subscribed=found.get("isSubscribed") is True,
        total=values.number(found.get("totalEmails")),
        unread=values.number(found.get("unreadEmails")),
    )


def _role(word: str, taken: set[Role]) -> Role:
    role = _ROLES.get(word.lower(), Role.FOLDER)
    if role in taken:
        return Role.FOLDER
    if role in UNIQUE_ROLES:
        taken.add(role)
    return role


def _path(box_id: str, by_id: Mapping[str, Object]) -> str:
    """The names from the top down. A circle, or a parent that is not listed, ends it."""
    names: list[str] = []
    seen: set[str] = set()
    at: str | None = box_id
    while at is not None and at in by_id and at not in seen and len(names) < DEEPEST:
        seen.add(at)
        found = by_id[at]
        names.append(shown(values.text(found.get("name"))) or at)
        parent = found.get("parentId")
        at = parent if isinstance(parent, str) else None
    return DELIMITER.join(reversed(names))


def shown(name: str) -> str:
    """A name as a segment of a path."""
    return name.replace(DELIMITER, STAND_IN)
