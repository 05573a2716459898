"""The API calls that turn a mail into a draft, give it its files, and send it (facts 11.1, 11.4, 11.8)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlencode

from mcp_proton.simulator.given import GivenMessage
from mcp_proton.simulator.proton import account_message
from mcp_proton.simulator.proton.api import ApiError, RefusedError
from mcp_proton.simulator.proton.departures import Departure
from mcp_proton.simulator.smtp.replies import SendError
from mcp_proton.simulator.texts.dates import rfc1123

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.bridge import Bridge
    from mcp_proton.simulator.proton.account import Account
    from mcp_proton.simulator.proton.account_message import AccountMessage
    from mcp_proton.simulator.proton.message import Message
    from mcp_proton.simulator.smtp.parents import Lineage
    from mcp_proton.simulator.smtp.recipients import Recipients

T = TypeVar("T")
_MESSAGES = "/mail/v4/messages"


@dataclass(frozen=True)
class Outgoing:
    """A mail ready for the API: its text, its content, the own address it is sent from, its people, what it answers to."""

    raw: bytes
    content: AccountMessage
    address: str
    recipients: Recipients
    lineage: Lineage


class Poster:
    """Carries one mail to the API. Raises SendError with the text Bridge would say, ApiError when nobody answered."""

    def __init__(self, bridge: Bridge, account: Account, mail: Outgoing) -> None:
        self._bridge = bridge
        self._account = account
        self._mail = mail

    async def post(self) -> str:
        """Make a draft, send it, delete the drafts it names; returns the id of the sent message."""
        draft_id = await self._call("failed to create draft", "POST", _MESSAGES, self._create)
        for count in range(1, len(self._mail.content.content.attachments) + 1):
            await self._upload(draft_id, count)
        await self._look_up()
        await self._call("failed to send draft", "POST", f"{_MESSAGES}/{draft_id}", lambda: self._send(draft_id))
        await self._delete_drafts()
        return draft_id

    # -- the calls

    async def _upload(self, draft_id: str, count: int) -> None:
        what = "failed to create attachments: failed to create attachments: failed to upload attachment"
        await self._call(what, "POST", "/mail/v4/attachments", lambda: self._attach(draft_id, count))

    async def _call(self, what: str, method: str, path: str, do: Callable[[], T], *, query: str = "") -> T:
        try:
            return await self._bridge.api.call(method, path, do, query=query)
        except ApiError as error:
            if error.is_broken:
                raise
            raise SendError(f"failed to send message: {what}: {error}") from None

    async def _look_up(self) -> None:
        """Ask for the keys and the contact of each recipient; one that is refused fails them all."""
        addresses = self._mail.recipients.addresses
        for address in addresses:
            prefix = "failed to get recipients: failed to get send preferences: failed to get"
            query = "?" + urlencode({"Email": address})
            try:
                await self._call(
                    f"{prefix} public key for {address}", "GET", "/core/v4/keys", lambda: None, query=query
                )
                await self._call(
                    f"{prefix} contact settings for {address}: failed to get contact data",
                    "GET", "/contacts/v4/emails", lambda: None, query=query,
                )  # fmt: skip
            except SendError as error:
                raise SendError(str(error), closes_smtp=len(addresses) > 1) from None

    async def _delete_drafts(self) -> None:
        for draft in self._mail.lineage.drafts:
            await self._delete_draft(draft.id)

    async def _delete_draft(self, draft_id: str) -> None:
        try:
            await self._bridge.api.call("PUT", f"{_MESSAGES}/delete", lambda: self._account.delete([draft_id]))
        except ApiError:
            # The mail is out; Bridge writes this into its log and says nothing.
            return

    # -- what they do on the server

    def _create(self) -> str:
        sender = self._mail.content.sender
        if self._account.model == "fake" and (sender is None or sender.address not in self._account.addresses):
            raise RefusedError(422, "422 Unprocessable Entity")
        given = GivenMessage(
            raw=self._mail.raw, places=("drafts",), flags=("draft",), unread=False, address=self._mail.address,
            time=self._bridge.clock.now(),
        )  # fmt: skip
        message = self._account.add(given)
        message.parent = self._mail.lineage.parent.id if self._mail.lineage.parent is not None else ""
        message.composed = self._written(files=0, reply_to=False)
        return message.id

    def _attach(self, draft_id: str, count: int) -> None:
        if draft_id in self._account.messages:
            self._account.rewrite(self._account.messages[draft_id], self._written(files=count, reply_to=False))

    def _send(self, draft_id: str) -> None:
        message = self._account.messages.get(draft_id)
        if message is None:
            raise RefusedError(422, "422 Unprocessable Entity")
        if not message.is_draft and not self._bridge.settings.accepts_a_second_sending:
            raise RefusedError(422, "Message was already sent", 2001)
        if message.is_draft:
            self._become_sent(message)
        composed = message.held
        shown = _in_form(
            replace(composed, bcc=[]), self._date(), _thread(self._mail.lineage.parent, self._account.model)
        )
        for address in self._mail.recipients.addresses:
            self._depart(message, shown, address)

    def _become_sent(self, message: Message) -> None:
        composed = self._written(files=len(self._mail.content.content.attachments), reply_to=True)
        if not composed.external_id:
            domain = "fake.api" if self._account.model == "fake" else "protonmail.com"
            composed = replace(composed, external_id=f"{self._account.new_id()}@{domain}")
            composed = _in_form(composed, self._date(), _thread(self._mail.lineage.parent, self._account.model))
        self._account.sent(message, composed, self._bridge.clock.now())
        parent = self._mail.lineage.parent
        if parent is not None and parent.id in self._account.messages:
            self._account.set_flag([parent.id], self._mail.lineage.mark)

    def _depart(self, message: Message, shown: AccountMessage, address: str) -> None:
        receiver = self._bridge.user_of(address)
        kind: Literal["internal", "clear"] = "internal" if receiver is not None else "clear"
        now = self._bridge.clock.now()
        self._bridge.sent.append(Departure(self._account.name, message.id, address, kind, shown, now))
        if receiver is None:
            return
        named = receiver.account.own_address(address) or receiver.account.primary
        given = GivenMessage(raw=self._mail.raw, places=("inbox",), flags=("received",), address=named, time=now)
        receiver.account.add(given).composed = shown

    # -- what is written

    def _written(self, *, files: int, reply_to: bool) -> AccountMessage:
        content = self._mail.content
        people = self._mail.recipients
        composed = replace(
            content,
            to=people.to,
            cc=people.cc,
            bcc=people.bcc,
            reply_to=[content.sender] if content.sender is not None and reply_to else [],
            content=replace(content.content, attachments=content.content.attachments[:files]),
        )
        return _in_form(composed, self._date(), _thread(self._mail.lineage.parent, self._account.model))

    def _date(self) -> str:
        return rfc1123(dt.datetime.fromtimestamp(int(self._bridge.clock.now()), dt.UTC))


def _in_form(message: AccountMessage, date: str, thread: str) -> AccountMessage:
    return account_message.in_composers_form(message, date=date, thread=thread)


def _thread(parent: Message | None, model: str) -> str:
    """References of an answer: the parent alone in the fake's model, after the parent's own in the real one."""
    if parent is None or not parent.held.external_id:
        return ""
    own = f"<{parent.held.external_id}>"
    before = next((value for name, value in parent.held.header if name.lower() == "references"), "")
    return own if model == "fake" or not before else f"{before} {own}"
