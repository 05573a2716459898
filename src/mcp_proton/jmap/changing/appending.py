"""Putting a message into a mailbox: its octets as a blob, streamed, then one Email/import (RFC 8621 §4.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict, MailError, NotFound, OverLimit
from mcp_proton.imap.changing.appending import check_lines, check_place, check_size
from mcp_proton.jmap import keys, keywords
from mcp_proton.jmap.changing import refusals
from mcp_proton.jmap.errors import MethodFailed, acted
from mcp_proton.jmap.finding import filters
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object


class Appending:
    """Appends to the mailboxes of one account."""

    def __init__(self, client: Client, mailboxes: Mailboxes) -> None:
        self._client, self._mailboxes = client, mailboxes

    async def append(self, to: Mailbox, mail: Octets, flags: frozenset[str], received: datetime | None) -> Handle:
        """See `MailBackend.append`. A server that takes equal messages for one refuses the second (RFC 8621 §4.8)."""
        check_place(to)
        await check_lines(mail)
        check_size(mail, (await self._client.limits()).upload)
        if not any(box.id == to.id for box in await self._mailboxes.all()):
            raise NotFound("there is no such mailbox", code="no_such_mailbox", next="list mailboxes again")
        wanted = imported(await self._client.upload(mail), to, flags)
        if received is not None:
            wanted["receivedAt"] = filters.date(received, up=False)
        (answer,) = await self._client.ask(Call("Email/import", {"emails": {"m": wanted}}), changes=True)
        if isinstance(answer, MethodFailed):
            raise refusals.of_method(answer)
        with acted():
            return keys.handle(to, created(answer))


def imported(blob_id: str, to: Mailbox, flags: frozenset[str]) -> Object:
    """What Email/import is told of one message."""
    words = {keywords.theirs(flag): True for flag in sorted(flags)}
    return {"blobId": blob_id, "mailboxIds": {to.id: True}, "keywords": words}


def created(answer: Object) -> str:
    """The id of the message `m` that was made. Raises why it was not."""
    made = values.entry(answer, "created", "m")
    if made is not None:
        return values.identifier(made.get("id"))
    why = values.entry(answer, "notCreated", "m")
    raise refusals.not_told() if why is None else _refused(why)


def _refused(told: Object) -> MailError:
    match values.text(told.get("type")):
        case "alreadyExists":
            return Conflict(
                "this account has that very message already, and keeps it once",
                code="already_there",
                next="nothing was stored; look for it by its Message-ID",
            )
        case "tooLarge" | "overQuota":
            return OverLimit("the account has no room for it", code="over_quota", next="nothing was stored")
    return refusals.of_item(told)
