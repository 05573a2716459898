"""One mail from DATA to its reply, in Bridge's own order of steps (facts 11.2 to 11.6)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from mcp_proton.simulator.proton import account_message
from mcp_proton.simulator.proton.api import ApiError
from mcp_proton.simulator.send_recorder import OverdueError
from mcp_proton.simulator.smtp import recipients
from mcp_proton.simulator.smtp.arriving import LineTooLongError
from mcp_proton.simulator.smtp.parents import Searcher
from mcp_proton.simulator.smtp.posting import Outgoing, Poster
from mcp_proton.simulator.smtp.replies import SendError
from mcp_proton.simulator.texts.addresses import Address, AddressError, parse_addresses
from mcp_proton.simulator.texts.content_key import UnreadableTextError, content_key
from mcp_proton.simulator.texts.mime_faults import people_fault, structure_fault
from mcp_proton.simulator.texts.sections import Section

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.simulator.bridge import Bridge
    from mcp_proton.simulator.send_recorder import Claim
    from mcp_proton.simulator.view.users import BridgeUser


class Text(Protocol):
    """The text of a mail, still to be read."""

    async def all(self) -> bytes:
        """Read it."""
        ...


@dataclass
class Envelope:
    """What MAIL and RCPT said."""

    sender: str | None = None
    recipients: list[str] = field(default_factory=list)


class Courier:
    """Takes mails of one login; `fault` is called at the named steps a script can act on."""

    def __init__(
        self, bridge: Bridge, user: BridgeUser | None, login: str, fault: Callable[[str], Awaitable[None]]
    ) -> None:
        self._bridge = bridge
        self._user = user
        self._login = login
        self._fault = fault

    async def take(self, envelope: Envelope, text: Text) -> None:
        """Send a mail or take it for a repeat; raises SendError, ApiError when the API was not to be reached."""
        people = [one for one in envelope.recipients if one]
        if not envelope.sender:
            raise SendError("invalid return path")
        if not people:
            raise SendError("invalid recipient")
        if self._user is None or not self._user.signed_in:
            raise SendError("no such user")
        service = self._user.sending
        began = self._bridge.clock.now()
        if self._bridge.settings.throttles_failures and not service.throttle.allows(began):
            raise SendError("too many failed requests, please try again later")
        try:
            async with service.loop.turn():
                await self._carry(self._user, envelope.sender, people, text)
        except (SendError, ApiError):
            service.throttle.failed(began)
            raise
        service.throttle.succeeded(began)

    async def _carry(self, user: BridgeUser, sender: str, people: list[str], text: Text) -> None:
        if user.account.own_address(sender) is None:
            raise SendError("invalid return path")
        try:
            raw = (await text.all()).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        except LineTooLongError:
            raise SendError("failed to read message: smtp: too long a line in input stream") from None
        await self._fault("after DATA")
        claim = await self._claim(user, raw, people)
        if claim is None:
            return
        try:
            claim.was_sent(await self._send(user, sender, people, raw))
        except SendError as error:
            if not (error.is_identity and self._bridge.settings.refused_sender_poisons):
                claim.was_not_sent()
            raise
        except BaseException:
            claim.was_not_sent()
            raise

    async def _claim(self, user: BridgeUser, raw: bytes, people: list[str]) -> Claim | None:
        try:
            key = content_key(raw)
        except UnreadableTextError as error:
            raise SendError(str(error)) from None
        if not self._bridge.settings.suppresses_repeats:
            user.sending.recorder.forget(key)
        try:
            return await user.sending.recorder.claim(key, people)
        except OverdueError:
            raise SendError(
                "failed to check send hash: failed to wait for message to be sent: context deadline exceeded"
            ) from None

    async def _send(self, user: BridgeUser, sender: str, people: list[str], raw: bytes) -> str:
        message = Section(raw, 0, len(raw))
        fault = structure_fault(message)
        if fault:
            raise SendError(f"failed to create parser: {fault}")
        written = _sender_of(message) or Address("", sender)
        address = self._checked_address(user, written.address)
        await self._settings()
        fault = people_fault(message)
        if fault:
            raise SendError(f"failed to parse message: {fault}")
        mail = await self._outgoing(user, raw, message, written, address, people)
        return await Poster(self._bridge, user.account, mail).post()

    def _checked_address(self, user: BridgeUser, wanted: str) -> str:
        address = user.account.own_address(wanted)
        if address is None:
            raise SendError("invalid return path", is_identity=True)
        if not user.addresses.get(address, True):
            raise SendError(f"cannot send from address: {address}", is_identity=True)
        return address

    async def _settings(self) -> None:
        try:
            await self._bridge.api.call("GET", "/mail/v4/settings", lambda: None)
        except ApiError as error:
            if error.is_broken:
                raise
            raise SendError(f"failed to get mail settings: {error}") from None

    async def _outgoing(
        self, user: BridgeUser, raw: bytes, message: Section, written: Address, address: str, people: list[str]
    ) -> Outgoing:
        # A tag of one's own is kept, otherwise the address is written as the account has it.
        own = Address(written.name, written.address if "+" in written.address else address)
        content = account_message.composed(raw, draft=True, date="", sender=own)
        narrow = (user.account.own_address(self._login) or address) if user.mode == "split" else None
        lineage = await Searcher(user.account, self._bridge.api, narrow).lineage(message)
        return Outgoing(raw, replace(content, sender=own), address, recipients.settled(content, people), lineage)


def _sender_of(message: Section) -> Address | None:
    """The first address of From; None where there is none, or it can't be read."""
    try:
        found = parse_addresses(message.get("from") or "")
    except AddressError:
        return None
    return found[0] if found else None
