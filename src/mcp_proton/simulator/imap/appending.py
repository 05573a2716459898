"""APPEND: the gate, the ways a literal can go, and Recovered Messages for what the server wouldn't take (facts 6)."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from mcp_proton.simulator.given import GivenMessage
from mcp_proton.simulator.imap.answers import TRY_CREATE, Refusal
from mcp_proton.simulator.imap.append_gate import check_recipients, gate, headers, without_files
from mcp_proton.simulator.proton import labels as ids
from mcp_proton.simulator.proton.account_message import composed
from mcp_proton.simulator.proton.api import ApiError, RefusedError
from mcp_proton.simulator.proton.connector import NOT_ALLOWED, RefusedByBridgeError
from mcp_proton.simulator.proton.labels import Kind
from mcp_proton.simulator.texts.addresses import AddressError, parse_addresses
from mcp_proton.simulator.texts.content_key import UnreadableTextError, content_key, recipients_of
from mcp_proton.simulator.texts.mime_faults import structure_fault
from mcp_proton.simulator.texts.sections import Section
from mcp_proton.simulator.view.served import ServedMessage

if TYPE_CHECKING:
    from mcp_proton.simulator.clock import Clock
    from mcp_proton.simulator.imap.commands import Command
    from mcp_proton.simulator.imap.session import Session
    from mcp_proton.simulator.proton.api import Api
    from mcp_proton.simulator.settings import Settings
    from mcp_proton.simulator.view.served import Shelf
    from mcp_proton.simulator.view.store import Mailbox
    from mcp_proton.simulator.view.users import BridgeUser, Tree

# 30 MiB encrypted; ASCII armour adds about a third.
_MAX_IMPORT = int(30 * 1024 * 1024 * 0.76)
_TOO_LARGE = (
    "failed to prepare message for import: message exceeds maximum import size of 30MB: message size exceeds limits"
)


class TooLargeError(Exception):
    """Refused for its size; such a message is not kept."""


class Appender:
    """Imports messages and makes drafts for one tree."""

    def __init__(
        self,
        user: BridgeUser,
        tree: Tree,
        api: Api,
        clock: Clock,
        shelf: Shelf,
        address: str | None,
        settings: Settings,
    ) -> None:
        self._user = user
        self._account = user.account
        self._settings = settings
        self._tree = tree
        self._api = api
        self._clock = clock
        self._shelf = shelf
        self._address = address

    async def import_recovered(self, message: ServedMessage, target: Mailbox) -> ServedMessage:
        """Import what is in Recovered Messages on its way to another mailbox; refuses Scheduled after that was done."""
        made = await self.create(message.literal, target, message.flags)
        if target.kind is Kind.SCHEDULED:
            raise Refusal(NOT_ALLOWED)
        return made

    async def create(self, literal: bytes, target: Mailbox, flags: frozenset[str]) -> ServedMessage:
        """Make the message on the server and in Bridge's database; it isn't in any mailbox of the view yet."""
        if target.kind is Kind.ALL:
            raise RefusedByBridgeError(NOT_ALLOWED)
        check_recipients(literal)
        fault = structure_fault(Section(literal, 0, len(literal)))
        if fault:
            raise RefusedByBridgeError(f"failed to parse literal: {fault}")
        if target.id != ids.DRAFTS:
            return await self._import(literal, target, flags)
        try:
            return await self._draft(literal)
        except ApiError as error:
            raise ApiError(f"failed to create draft: {error}") from None

    # -- mail that was sent lately

    async def sent_lately(self, literal: bytes) -> str | None:
        """The id of the mail sent by SMTP that a text is equal to; waits for one that is being sent."""
        if not self._settings.appended_sent_mail_is_copied:
            return None
        try:
            key = content_key(literal)
        except UnreadableTextError as error:
            raise Refusal(str(error)) from None
        return await self._user.sending.recorder.sent_as(key, recipients_of(literal))

    async def fetched(self, message_id: str) -> ServedMessage:
        """A sent mail as it is on the server, known to Bridge from now on; refuses when it is gone."""
        try:
            await self._api.call("GET", f"/mail/v4/messages/{message_id}", lambda: self._existing(message_id))
        except ApiError as error:
            raise ApiError(f"failed to fetch message: {error}") from None
        return self._know(message_id)

    def _existing(self, message_id: str) -> None:
        if message_id not in self._account.messages:
            raise RefusedError(422, "422 Unprocessable Entity")

    # -- imports

    async def _import(self, literal: bytes, target: Mailbox, flags: frozenset[str]) -> ServedMessage:
        if len(literal) > _MAX_IMPORT:
            raise TooLargeError(_TOO_LARGE)
        given = self._given_import(literal, target, flags)
        starred = "\\Flagged" in flags
        try:
            made = await self._api.call(
                "POST", "/mail/v4/messages/import", lambda: self._accept(given, target, starred=starred)
            )
        except ApiError as error:
            raise ApiError(f"failed to import message: failed to import messages: {error}") from None
        return self._know(made)

    def _given_import(self, literal: bytes, target: Mailbox, flags: frozenset[str]) -> GivenMessage:
        by_place = {ids.INBOX: True, ids.SENT: False}
        is_received = by_place.get(target.id, headers(literal)["Received"] is not None)
        return GivenMessage(
            raw=literal,
            places=(),
            flags=("received" if is_received else "sent", *(["replied"] if "\\Answered" in flags else [])),
            unread="\\Seen" not in flags,
            address=self._address or self._own_sender(literal, disabled_too=True),
            origin="appended",
        )

    def _accept(self, given: GivenMessage, target: Mailbox, *, starred: bool) -> str:
        if target.kind is Kind.NODE:
            raise RefusedByBridgeError(
                "failed to import message: failed to import message: failed to import: "
                f"invalid label ID: {target.id} (Code=2001, Status=0)"
            )
        message = self._account.add(given, now=self._clock.now())
        self._account.label([message.id], target.id)
        if starred:
            self._account.label([message.id], ids.STARRED)
        return message.id

    # -- drafts

    async def _draft(self, literal: bytes) -> ServedMessage:
        address = self._address or self._own_sender(literal, disabled_too=False)
        content = composed(literal, draft=True, date="").content
        given = GivenMessage(
            raw=without_files(literal, content) if content.attachments else literal,
            places=("drafts",), flags=("draft",), unread=False, address=address, origin="appended",
            time=self._clock.now(),
        )  # fmt: skip
        try:
            made = await self._api.call("POST", "/mail/v4/messages", lambda: self._account.add(given).id)
        except ApiError as error:
            raise ApiError(f"failed to create draft: {error}") from None
        for _ in content.attachments:
            try:
                await self._api.call("POST", "/mail/v4/attachments", lambda: None)
            except ApiError as error:
                raise ApiError(f"failed to add attachment to draft: {error}") from None
        self._account.messages[made].raw = literal
        return self._know(made)

    def _own_sender(self, literal: bytes, *, disabled_too: bool) -> str:
        """The account's address that a text says it is from, tags aside; else the primary one."""
        try:
            senders = parse_addresses(str(headers(literal)["From"] or ""))
        except AddressError:
            senders = []
        named = [re.sub(r"\+[^@]*@", "@", one.address).lower() for one in senders[:1]]
        for address, is_enabled in self._account.addresses.items():
            if address.lower() in named and (is_enabled or disabled_too):
                return address
        return self._account.primary

    def _know(self, message_id: str) -> ServedMessage:
        served = self._tree.follower.served(self._account.messages[message_id])
        self._tree.view.messages[message_id] = served
        return served

    # -- Recovered Messages

    def keep(self, literal: bytes, flags: frozenset[str]) -> bool:
        """Put a literal into Recovered Messages unless one of equal content is known there; True if it was."""
        view = self._tree.view
        key = _recovered_key(literal)
        if key in view.recovered_hashes:
            return True
        view.recovered_hashes.add(key)
        gluon_id = self._account.new_id()
        kept = ServedMessage(
            f"recovered-{gluon_id}", gluon_id, flags, self._clock.now(), lambda _: literal, self._shelf
        )
        view.put(view.mailboxes[ids.RECOVERED], kept)
        return False


async def append(session: Session, command: Command) -> tuple[str, Mailbox]:
    """APPEND; returns the response code and the mailbox."""
    view = session.view
    target = view.by_path(command.mailbox)
    if target is None:
        raise Refusal(TRY_CREATE)
    if target.kind is Kind.RECOVERED:
        raise Refusal(NOT_ALLOWED)
    literal, flags = command.literal, frozenset(command.flags)
    if target.id != ids.DRAFTS:
        gate(literal)
    try:
        message = (
            await _known_copy(session, literal, target)
            or await _sent_copy(session, literal, target)
            or await session.appender.create(literal, target, flags)
        )
    except TooLargeError as error:
        raise Refusal(str(error)) from None
    except (ApiError, RefusedByBridgeError, Refusal) as error:
        text = error.text if isinstance(error, Refusal) else str(error)
        if session.appender.keep(literal, flags):
            text += ": known recovered message, possible duplication"
        raise Refusal(text) from None
    entry = view.put(target, message, by=session)
    return f"[APPENDUID {target.uidvalidity} {entry.uid}]", target


async def _known_copy(session: Session, literal: bytes, target: Mailbox) -> ServedMessage | None:
    """A literal with the X-Pm-Gluon-Id of a known message isn't read further: that message is copied."""
    named = headers(literal)["X-Pm-Gluon-Id"]
    if named is None or target.id == ids.DRAFTS:
        return None
    gluon_id = str(named).strip()
    try:
        uuid.UUID(gluon_id)
    except ValueError:
        raise Refusal(f"invalid message id:invalid UUID length: {len(gluon_id)}") from None
    known = next((one for one in session.view.messages.values() if one.gluon_id == gluon_id), None)
    return None if known is None else await _copied(session, known, target)


async def _sent_copy(session: Session, literal: bytes, target: Mailbox) -> ServedMessage | None:
    """A text that was sent by SMTP lately: that mail is copied, or shown at once if no event has told of it yet."""
    if target.kind is Kind.ALL:
        return None
    check_recipients(literal)
    sent = await session.appender.sent_lately(literal)
    if sent is None:
        return None
    known = session.view.messages.get(sent)
    if known is None:
        return await session.appender.fetched(sent)
    if target.id == ids.DRAFTS:
        raise Refusal("append to drafts returned an existing remote ID")
    return await _copied(session, known, target)


async def _copied(session: Session, known: ServedMessage, target: Mailbox) -> ServedMessage:
    if known in target.entries:
        await session.connector.remove([known.remote_id], target)
        session.view.take(target, known)
    await session.connector.add([known.remote_id], target)
    return known


def _recovered_key(literal: bytes) -> bytes:
    try:
        return content_key(literal)
    except UnreadableTextError:
        return literal
