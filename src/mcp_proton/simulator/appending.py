"""APPEND: the gate, the ways a literal can go, and Recovered Messages for what the server wouldn't take (facts 6)."""

from __future__ import annotations

import hashlib
import re
import uuid
from email import policy
from email.parser import BytesHeaderParser
from typing import TYPE_CHECKING

from mcp_proton.simulator import labels as ids
from mcp_proton.simulator.account_message import composed
from mcp_proton.simulator.address_faults import fault_text
from mcp_proton.simulator.addresses import AddressError, parse_addresses
from mcp_proton.simulator.answers import TRY_CREATE, Misuse, Refusal
from mcp_proton.simulator.api import ApiError
from mcp_proton.simulator.connector import NOT_ALLOWED, RefusedByBridgeError
from mcp_proton.simulator.given import GivenMessage
from mcp_proton.simulator.labels import Kind
from mcp_proton.simulator.served import ServedMessage

if TYPE_CHECKING:
    from email.message import Message as Headers

    from mcp_proton.simulator.account import Account
    from mcp_proton.simulator.api import Api
    from mcp_proton.simulator.clock import Clock
    from mcp_proton.simulator.commands import Command
    from mcp_proton.simulator.parts import Content
    from mcp_proton.simulator.served import Shelf
    from mcp_proton.simulator.session import Session
    from mcp_proton.simulator.store import Mailbox
    from mcp_proton.simulator.users import Tree

# 30 MiB encrypted; ASCII armour adds about a third.
_MAX_IMPORT = int(30 * 1024 * 1024 * 0.76)
_TOO_LARGE = (
    "failed to prepare message for import: message exceeds maximum import size of 30MB: message size exceeds limits"
)


class TooLargeError(Exception):
    """Refused for its size; such a message is not kept."""


class Appender:
    """Imports messages and makes drafts for one tree."""

    def __init__(self, account: Account, tree: Tree, api: Api, clock: Clock, shelf: Shelf, address: str | None) -> None:
        self._account = account
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
        _check_recipients(literal)
        if target.id != ids.DRAFTS:
            return await self._import(literal, target, flags)
        try:
            return await self._draft(literal)
        except ApiError as error:
            raise ApiError(f"failed to create draft: {error}") from None

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
        if target.id in {ids.INBOX, ids.SENT}:
            is_received = target.id == ids.INBOX
        else:
            is_received = _headers(literal)["Received"] is not None
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
            raw=_without_files(literal, content) if content.attachments else literal,
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
            senders = parse_addresses(str(_headers(literal)["From"] or ""))
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
        key = content_hash(literal)
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
        _gate(literal)
    try:
        message = await _known_copy(session, literal, target) or await session.appender.create(literal, target, flags)
    except TooLargeError as error:
        raise Refusal(str(error)) from None
    except (ApiError, RefusedByBridgeError, Refusal) as error:
        text = error.text if isinstance(error, Refusal) else str(error)
        if session.appender.keep(literal, flags):
            text += ": known recovered message, possible duplication"
        raise Refusal(text) from None
    entry = view.put(target, message)
    return f"[APPENDUID {target.uidvalidity} {entry.uid}]", target


async def _known_copy(session: Session, literal: bytes, target: Mailbox) -> ServedMessage | None:
    """A literal with the X-Pm-Gluon-Id of a known message isn't read further: that message is copied."""
    named = _headers(literal)["X-Pm-Gluon-Id"]
    if named is None or target.id == ids.DRAFTS:
        return None
    gluon_id = str(named).strip()
    try:
        uuid.UUID(gluon_id)
    except ValueError:
        raise Refusal(f"invalid message id:invalid UUID length: {len(gluon_id)}") from None
    known = next((one for one in session.view.messages.values() if one.gluon_id == gluon_id), None)
    if known is None:
        return None
    if known in target.entries:
        await session.connector.remove([known.remote_id], target)
        session.view.take(target, known)
    await session.connector.add([known.remote_id], target)
    return known


def _gate(literal: bytes) -> None:
    headers = _headers(literal)
    for field in ("Date", "From"):
        _require(headers, field)
    try:
        count = len(parse_addresses(str(headers["From"])))
    except AddressError:
        text = fault_text(str(headers["From"]))
        raise Misuse(f"invalid rfc5322 message: failed to parse From header: {text}") from None
    if count > 1:
        _require(headers, "Sender")


def _require(headers: Headers, field: str) -> None:
    value = headers[field]
    if value is None or not str(value).strip():
        raise Misuse(f"invalid rfc5322 message: Required header field '{field}' not found or empty")


def _check_recipients(literal: bytes) -> None:
    headers = _headers(literal)
    for field in ("To", "Cc", "Bcc"):
        value = str(headers[field] or "")
        try:
            parse_addresses(value)
        except AddressError:
            raise Refusal(
                "failed to retrieve addresses from literal:"
                f"failed to parse addresses for '{field}': {fault_text(value)}"
            ) from None


def _without_files(literal: bytes, content: Content) -> bytes:
    """The draft as it is on the server before its attachments are uploaded."""
    head = literal.partition(b"\r\n\r\n")[0]
    fields = re.split(rb"\r\n(?![ \t])", head)
    kept = [field for field in fields if not re.match(rb"(?i)content-|mime-version", field)]
    kept.append(f"Content-Type: {content.media_type}; charset=utf-8".encode())
    return b"\r\n".join(kept) + b"\r\n\r\n" + content.body


def _headers(literal: bytes) -> Headers:
    return BytesHeaderParser(policy=policy.compat32).parsebytes(literal.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")


def content_hash(literal: bytes) -> bytes:
    """What makes two texts equal to Bridge: everything but Message-ID and Date (facts 11.6, in short)."""
    head, _, body = literal.partition(b"\r\n\r\n")
    kept = [line for line in head.split(b"\r\n") if line.split(b":")[0].lower() not in {b"message-id", b"date"}]
    return hashlib.sha256(b"\r\n".join(sorted(kept)) + b"\0" + body.strip()).digest()
