"""Conversations as the server has them (RFC 8621 §3), in one request: the message, its thread, and all that is in it, with
the text of what is simple to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.domain.powers import Conversation
from mcp_proton.jmap import envelopes, keys, simple
from mcp_proton.jmap.errors import LimitExceeded, MethodFailed
from mcp_proton.jmap.occurrences import gone
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call, Ref, sure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

MOST = 500
"""messages of one conversation that are looked at: the latest"""
Answer: TypeAlias = "Object | MethodFailed"
_PROPERTIES: Object = {"properties": [*envelopes.PROPERTIES, "references", *simple.PROPERTIES], **simple.ASKED}


class Threads:
    """One account's."""

    def __init__(self, client: Client, mailboxes: Mailboxes) -> None:
        self._client, self._mailboxes = client, mailboxes

    async def conversation(self, handle: Handle, scope: Sequence[Mailbox]) -> Conversation:
        """The thread of a message, as far as it lies in these mailboxes (its own is always one of them)."""
        own, email_id = await self._mailboxes.of(handle), keys.read(handle.key)
        message, threads, told = await self._asked(email_id)
        first = values.listed(sure(message))
        if not first or own.id not in values.keys_of(first[0].get("mailboxIds")):
            raise gone()
        if told is None or (isinstance(told, MethodFailed) and told.kind == "requestTooLarge"):
            told = await self._latest(sure(threads))
        boxes = {box.id: box for box in (own, *scope)}
        rows: list[Envelope] = []
        references: dict[Handle, tuple[str, ...]] = {}
        texts: dict[Handle, str] = {}
        for email in values.listed(sure(told)):
            text = simple.text(email)
            for box_id in sorted(values.keys_of(email.get("mailboxIds")) & boxes.keys()):
                row = envelopes.envelope(boxes[box_id], email)
                rows.append(row)
                references[row.handle] = envelopes.references(email)
                if text is not None:
                    texts[row.handle] = text
        return Conversation(rows, references, texts)

    async def _asked(self, email_id: str) -> tuple[Answer, Answer, Answer | None]:
        """All at once; without the last where it is more than we are ready to hold."""
        calls = (
            Call("Email/get", {"ids": [email_id], "properties": ["mailboxIds", "threadId"]}),
            Call("Thread/get", {"#ids": Ref(0, "Email/get", "/list/*/threadId").told}),
            Call("Email/get", {"#ids": Ref(1, "Thread/get", "/list/*/emailIds").told, **_PROPERTIES}),
        )
        try:
            message, threads, told = await self._client.ask(*calls)
        except LimitExceeded:
            message, threads = await self._client.ask(*calls[:2])
            return message, threads, None
        return message, threads, told

    async def _latest(self, threads: Object) -> Object:
        """A conversation larger than one answer may be (RFC 8621 §3: its ids are sorted by date, the oldest first)."""
        most = min(MOST, (await self._client.limits()).objects_in_get)
        ids = [
            values.identifier(one)
            for thread in values.listed(threads)
            for one in values.sequence(thread.get("emailIds"))
        ]
        (answer,) = await self._client.demand(Call("Email/get", {"ids": ids[-most:], **_PROPERTIES}))
        return answer
