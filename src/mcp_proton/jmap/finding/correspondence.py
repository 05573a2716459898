"""Whom the owner wrote to and who wrote to the owner, in one request, by the server's own index.

An index finds words, each server's in its own way: who is found is looked at by whoever asked, and who is not found may be
known all the same. So it serves where being taken for a stranger only means that the owner is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.powers import Correspondence, lacking
from mcp_proton.domain.query import Contains, Field, Or
from mcp_proton.jmap import envelopes
from mcp_proton.jmap.errors import MethodFailed
from mcp_proton.jmap.finding import filters, windows, words
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call, Ref

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

LATEST = 100
"""messages that are looked at, of either kind"""
_SENT = frozenset({Role.SENT})
_RECEIVED = frozenset({Role.INBOX, Role.ARCHIVE, Role.FOLDER})
_TO = (Field.TO, Field.CC, Field.BCC)
_LACKING = lacking("find mail by an index")
_PROPERTIES = ("id", "mailboxIds", "from", "to", "cc", "bcc")


class Correspondents:
    """One account's."""

    def __init__(self, client: Client, mailboxes: Mailboxes) -> None:
        self._client, self._mailboxes = client, mailboxes
        self._has_index = True
        """until the server says that it has none"""

    async def correspondence(self, addresses: Sequence[str]) -> Correspondence:
        """Raises `Unsupported` where the server has no index, or does not take such a question."""
        if not self._has_index or (await self._client.limits()).calls < 4:
            raise _LACKING
        boxes = await self._mailboxes.lasting()
        answers = await self._asked(boxes, addresses)
        if (now := await self._mailboxes.lasting()) != boxes:
            boxes, answers = now, await self._asked(now, addresses)
        sure = []
        for answer in answers:
            if isinstance(answer, MethodFailed):
                self._has_index = answer.kind == "invalidArguments" or answer.kind not in words.WITHOUT
                raise _LACKING from answer
            sure.append(answer)
        windowed = (windows.read(sure[0], LATEST, 0), windows.read(sure[2], LATEST, 0))
        return Correspondence(
            sent=_rows(_of(boxes, _SENT), sure[1]),
            received=_rows(_of(boxes, _RECEIVED), sure[3]),
            more=any(one.has_more for one in windowed),
        )

    async def _asked(self, boxes: Sequence[Mailbox], addresses: Sequence[str]) -> Sequence[Object | MethodFailed]:
        sent, received = _of(boxes, _SENT), _of(boxes, _RECEIVED)
        if not sent or not received:
            raise _LACKING
        return await self._mailboxes.along(
            *_looked_for(0, sent, addresses, _TO), *_looked_for(2, received, addresses, (Field.FROM,))
        )


def _of(boxes: Sequence[Mailbox], roles: frozenset[Role]) -> list[Mailbox]:
    return [box for box in boxes if box.role in roles and box.selectable]


def _looked_for(at: int, scope: Sequence[Mailbox], addresses: Sequence[str], fields: Sequence[Field]) -> list[Call]:
    """The query that is call number `at`, and what it finds."""
    named = words.condition(Or(tuple(Contains(field, one) for one in addresses for field in fields)))
    asked: Object = {
        "filter": filters.within([box.id for box in scope], named),
        "sort": [{"property": "receivedAt", "isAscending": False}],
        "limit": LATEST,
        "calculateTotal": True,
    }
    found = {"#ids": Ref(at, "Email/query", "/ids").told, "properties": _PROPERTIES}
    return [Call("Email/query", asked), Call("Email/get", found)]


def _rows(scope: Sequence[Mailbox], answer: Object) -> list[Envelope]:
    """A row a message, in the first of these mailboxes that it is in."""
    rows = []
    for email in values.listed(answer)[:LATEST]:
        places = values.keys_of(email.get("mailboxIds"))
        rows += [envelopes.envelope(box, email) for box in scope if box.id in places][:1]
    return rows
