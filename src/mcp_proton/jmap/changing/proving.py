"""What became of a change whose answer was lost: looked up by the message's id, which never changes; never repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import Home
from mcp_proton.imap.changing.homes import KINDS
from mcp_proton.jmap import keys
from mcp_proton.jmap.occurrences import pages
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.occurrences import Occurrences
    from mcp_proton.jmap.protocol.client import Client

NOT_DONE = "it was looked for, and is there"


class Proving:
    """On JMAP an answer is a proof; only what is uncertain is looked for."""

    def __init__(self, client: Client, occurrences: Occurrences, mailboxes: Mailboxes) -> None:
        self._client, self._occurrences, self._mailboxes = client, occurrences, mailboxes

    async def identify(self, handles: Sequence[Handle]) -> dict[Handle, str]:
        """The ids of what is still there."""
        looked = await self._occurrences.look(handles, ())
        return {handle: handle.key for handle in handles if handle in looked.emails}

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None) -> list[Fate]:
        """The fates as they are known now."""
        unclear = [fate.handle.key for fate in fates if fate.ending is Ending.UNCERTAIN]
        places = await self._places(list(dict.fromkeys(unclear)))
        return [
            await self._told(fate, places.get(fate.handle.key, frozenset()), to)
            if fate.ending is Ending.UNCERTAIN
            else replace(fate, proof=Proof.SEEN)
            if fate.ending is Ending.DONE
            else fate
            for fate in fates
        ]

    async def _told(self, fate: Fate, places: frozenset[str], to: Mailbox | Home | None) -> Fate:
        boxes = await self._mailboxes.all()
        source = next((box for box in boxes if box.tag == fate.handle.tag), None)
        homes = [box for box in boxes if box.role in KINDS]
        for target in () if to is None else homes if isinstance(to, Home) else (to,):
            if target.id in places and target != source:
                now = keys.handle(target, fate.handle.key)
                return replace(fate, ending=Ending.DONE, code=None, why=None, now=now, proof=Proof.SEEN)
        # To destroy takes a message out of every mailbox; only a label is taken off one alone.
        off = source is not None and source.role is Role.LABEL
        if (source is not None and source.id in places) or (to is None and places and not off):
            return replace(fate, ending=Ending.FAILED, code="not_done", why=NOT_DONE, proof=None)
        if to is None:
            return replace(fate, ending=Ending.DONE, code=None, why=None, proof=Proof.SEEN)
        return fate

    async def _places(self, ids: Sequence[str]) -> dict[str, frozenset[str]]:
        """The mailboxes each message is in; none for what is gone."""
        limits = await self._client.limits()
        found: dict[str, frozenset[str]] = {}
        for some in pages(ids, limits.objects_in_get):
            (answer,) = await self._client.demand(Call("Email/get", {"ids": some, "properties": ["id", "mailboxIds"]}))
            for email in values.listed(answer):
                found[values.identifier(email.get("id"))] = values.keys_of(email.get("mailboxIds"))
        return found
