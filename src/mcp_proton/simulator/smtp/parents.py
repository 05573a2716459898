"""Which message a mail answers to, by Bridge's way of reading In-Reply-To and References (facts 11.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.simulator.proton.api import ApiError

if TYPE_CHECKING:
    from mcp_proton.simulator.proton.account import Account
    from mcp_proton.simulator.proton.api import Api
    from mcp_proton.simulator.proton.message import Message
    from mcp_proton.simulator.texts.sections import Section

_DOMAIN = "protonmail.internalid"
_BRACKETED = re.compile(r"<(.*)>")
_BOTH_PAGES = 2


@dataclass
class Lineage:
    """What a mail refers to: its parent, the drafts to delete once it is sent, and the parent's new mark."""

    parent: Message | None = None
    drafts: list[Message] = field(default_factory=list)
    mark: str = "forwarded"


class Searcher:
    """Looks for the parent of a mail; `address` narrows the search to one address (split mode)."""

    def __init__(self, account: Account, api: Api, address: str | None) -> None:
        self._account = account
        self._api = api
        self._address = address

    async def lineage(self, message: Section) -> Lineage:
        """What the mail refers to. A search that fails leaves it without a parent."""
        found = Lineage(mark=_mark(message))
        references = _references(message)
        internal = [one.removesuffix(f"@{_DOMAIN}") for one in references if _DOMAIN in one]
        external = [one for one in references if _DOMAIN not in one]
        try:
            for one in internal:
                await self._by_id(one, found)
            if found.parent is None and external:
                found.parent = await self._by_message_id(external[-1])
        except ApiError:
            return Lineage(drafts=found.drafts, mark=found.mark)
        return found

    async def _by_id(self, message_id: str, found: Lineage) -> None:
        messages = await self._ask()
        message = messages.get(message_id)
        if message is None or not self._is_mine(message):
            return
        if message.is_draft:
            found.drafts.append(message)
        else:
            found.parent = message

    async def _by_message_id(self, external_id: str) -> Message | None:
        await self._ask()
        fitting = [one for one in self._account.with_message_id(external_id) if self._is_mine(one)]
        if len(fitting) == 1:
            return None if fitting[0].is_draft else fitting[0]
        return next((one for one in fitting if "sent" in one.flags), None)

    async def _ask(self) -> dict[str, Message]:
        for _ in range(_BOTH_PAGES):
            await self._api.call("POST", "/mail/v4/messages", lambda: None)
        return self._account.messages

    def _is_mine(self, message: Message) -> bool:
        return self._address is None or message.address == self._address


def _references(message: Section) -> list[str]:
    found = [one.strip("<>") for one in re.split(r"[\s,]+", message.get("references") or "") if one]
    reply = _unbracketed(message.get("in-reply-to"))
    return [*found, reply] if reply else found


def _mark(message: Section) -> str:
    reply = _unbracketed(message.get("in-reply-to"))
    return "replied" if reply and reply != _unbracketed(message.get("x-forwarded-message-id")) else "forwarded"


def _unbracketed(value: str | None) -> str:
    return _BRACKETED.sub(r"\1", value or "").strip()
