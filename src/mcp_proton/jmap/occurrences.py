"""What handles point at. INVARIANT: a message counts as found only where it is in the mailbox its handle names, so that no
handle can be forged into a mailbox its caller may see (P-90)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, Stale
from mcp_proton.jmap import keys
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object


@dataclass(slots=True)
class Looked:
    """What was found, and why the rest was not; `state` is that of all mail when it was looked at (RFC 8620 §5.1)."""

    emails: dict[Handle, Object] = field(default_factory=dict)
    boxes: dict[Handle, Mailbox] = field(default_factory=dict)
    wrong: dict[Handle, MailError] = field(default_factory=dict)
    state: str = ""


class Occurrences:
    """Looks messages up by their handles."""

    def __init__(self, client: Client, mailboxes: Mailboxes) -> None:
        self._client, self._mailboxes = client, mailboxes

    async def one(self, handle: Handle, properties: Sequence[str], **more: object) -> tuple[Mailbox, Object]:
        """One message and its mailbox. Raises `Stale` or `Invalid`."""
        looked = await self.look([handle], properties, **more)
        if handle in looked.wrong:
            raise looked.wrong[handle]
        return looked.boxes[handle], looked.emails[handle]

    async def look(self, handles: Sequence[Handle], properties: Sequence[str], **more: object) -> Looked:
        """All of them, in as few requests as the server allows."""
        looked = Looked()
        by_id = await self._named(handles, looked)
        limits = await self._client.limits()
        asked = {"properties": ["id", "mailboxIds", *(one for one in properties if one not in {"id", "mailboxIds"})]}
        calls = [Call("Email/get", {"ids": ids, **asked, **more}) for ids in pages(list(by_id), limits.objects_in_get)]
        for some in _packets(calls, limits.calls, limits.request_size):
            for answer in await self._client.demand(*some):
                looked.state = values.state(answer.get("state"))
                self._sort_in(answer, by_id, looked)
        for handles_of_id in by_id.values():
            for handle in handles_of_id:
                if handle not in looked.emails:
                    looked.wrong[handle] = gone()
        return looked

    async def _named(self, handles: Sequence[Handle], looked: Looked) -> dict[str, list[Handle]]:
        by_id: dict[str, list[Handle]] = {}
        for handle in dict.fromkeys(handles):
            try:
                email_id = keys.read(handle.key)
                looked.boxes[handle] = await self._mailboxes.of(handle)
            except MailError as error:
                if error.retry:
                    raise
                looked.wrong[handle] = error
            else:
                by_id.setdefault(email_id, []).append(handle)
        return by_id

    def _sort_in(self, answer: Object, by_id: Mapping[str, list[Handle]], looked: Looked) -> None:
        for told in values.sequence(answer.get("list")):
            email = values.mapping(told)
            places = values.keys_of(email.get("mailboxIds"))
            for handle in by_id.get(values.identifier(email.get("id")), ()):
                if looked.boxes[handle].id in places:
                    looked.emails[handle] = email


def gone() -> Stale:
    """The error for a handle whose message is not in its mailbox any more."""
    return Stale("this handle no longer points at a message")


def pages(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Portions of at most that many."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _packets(calls: Sequence[Call], most: int, octets: int) -> Iterator[list[Call]]:
    """Calls as they fit into requests."""
    packet: list[Call] = []
    size = 0
    for call in calls:
        own = 600 + len(str(call.arguments["ids"]))
        if packet and (len(packet) == most or size + own > octets - 1_000):
            yield packet
            packet, size = [], 0
        packet.append(call)
        size += own
    if packet:
        yield packet
