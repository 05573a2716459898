"""One IMAP connection: reading commands, sending answers, and the state between them (facts 1, 8 to 10)."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.answers import NOT_AUTHENTICATED, NOT_SELECTED, ProcessEnds, Refusal
from mcp_proton.simulator.imap.incoming import BadLine, Hangup, Incoming
from mcp_proton.simulator.imap.parser import InvalidName
from mcp_proton.simulator.imap.selection import OutOfOrderError
from mcp_proton.simulator.imap.verbs import IN_SELECTED, VERBS
from mcp_proton.simulator.proton.api import ApiError
from mcp_proton.simulator.proton.connector import RefusedByBridgeError

if TYPE_CHECKING:
    from mcp_proton.simulator.faults import StepFault
    from mcp_proton.simulator.imap.appending import Appender
    from mcp_proton.simulator.imap.commands import Command
    from mcp_proton.simulator.imap.selection import Selection
    from mcp_proton.simulator.proton.api import Api
    from mcp_proton.simulator.proton.connector import Connector
    from mcp_proton.simulator.server import Simulator
    from mcp_proton.simulator.view.served import ServedMessage
    from mcp_proton.simulator.view.store import LocalView, Mailbox
    from mcp_proton.simulator.view.updates import Update
    from mcp_proton.simulator.view.users import BridgeUser

_BAD_LINES = 20
_IDLE_BATCH = 0.5
_SEND_AHEAD = 256 * 1024


class Session:
    """A client's connection, from greeting to end."""

    def __init__(
        self, simulator: Simulator, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int
    ) -> None:
        self.simulator = simulator
        self.number = number
        self.incoming = Incoming(reader, self.send, simulator.known_commands)
        self.has_idle = simulator.settings.has_idle
        self.sent = 0
        self.is_tls = simulator.implicit_tls
        self.user: BridgeUser | None = None
        self.selection: Selection | None = None
        self._view: LocalView | None = None
        self._connector: Connector | None = None
        self._appender: Appender | None = None
        self._writer = writer
        self._unsent = 0
        self._wake: asyncio.Event | None = None
        self.is_muted = False
        self._shakes_hands = False
        self.is_over = False

    # -- what verbs work with

    @property
    def api(self) -> Api:
        """The API, as Bridge calls it."""
        return self.simulator.api

    @property
    def view(self) -> LocalView:
        """The mailboxes this login sees; refuses before login."""
        if self._view is None:
            raise Refusal(NOT_AUTHENTICATED)
        return self._view

    @property
    def connector(self) -> Connector:
        """What changes the account for this login."""
        if self._connector is None:
            raise Refusal(NOT_AUTHENTICATED)
        return self._connector

    @property
    def appender(self) -> Appender:
        """What imports for this login."""
        if self._appender is None:
            raise Refusal(NOT_AUTHENTICATED)
        return self._appender

    def selected(self) -> Selection:
        """The selected mailbox; refuses when there is none."""
        if self._view is None:
            raise Refusal(NOT_AUTHENTICATED)
        if self.selection is None:
            raise Refusal(NOT_SELECTED)
        return self.selection

    def log_in(self, address: str, password: str) -> None:
        """Open the account of an address, or refuse as Bridge does: never saying why."""
        user = self.simulator.user_of(address)
        tree = user.tree_for(address) if user is not None else None
        if (
            user is None
            or tree is None
            or not secrets.compare_digest(user.password.encode(), password.encode("latin-1"))
        ):
            raise Refusal(self.simulator.login_failed())
        self.simulator.login_succeeded()
        self.user = user
        self._view, self._connector = tree.view, tree.connector
        self._appender = self.simulator.appender_for(user, tree)
        self._view.watchers.append(self)

    # -- a session as the view sees it

    @property
    def selected_mailbox(self) -> Mailbox | None:
        """The mailbox it has selected."""
        return self.selection.mailbox if self.selection is not None else None

    def notify(self, update: Update) -> None:
        """Queue an update; an IDLE is woken by it."""
        if self.selection is not None:
            self.selection.notify(update)
            if self._wake is not None:
                self._wake.set()

    def shows(self, message: ServedMessage) -> bool:
        """Whether its list holds the message."""
        return self.selection is not None and self.selection.shows(message)

    # -- sending

    def send(self, data: bytes) -> None:
        """Send bytes."""
        if self.is_muted or self.is_over:
            return
        self.sent += len(data)
        self._unsent += len(data)
        self._writer.write(data)

    async def send_line(self, line: bytes) -> None:
        """Send one response; waits for the client when much is under way."""
        self.send(line + b"\r\n")
        if self._unsent > _SEND_AHEAD:
            self._unsent = 0
            await self._writer.drain()

    async def flush(self, *, expunges: bool, closes: bool = False) -> bool:
        """Send what happened in the selected mailbox, no EXPUNGE if it `closes`; True if one had to be put off."""
        if self.selection is None:
            return False
        try:
            told = self.selection.flush(expunges=expunges, teller=self)
        except OutOfOrderError as error:
            raise Refusal(str(error)) from None
        for one in told:
            if not (closes and one.what == "EXPUNGE"):
                await self.send_line(one.line())
        return self.selection.expunge_is_due

    # -- life

    async def run(self) -> None:
        """Serve the connection until it ends, one way or the other."""
        try:
            self.send(f"* OK [CAPABILITY {self.capabilities(all_of_them=True)}] {self.simulator.greeting_text} "
                      f"- gluon session ID {self.number}\r\n".encode())  # fmt: skip
            await self._serve()
        except (Hangup, ConnectionError, asyncio.IncompleteReadError):
            pass
        except ProcessEnds:
            self.simulator.process_ended()
        finally:
            self.close()

    def close(self) -> None:
        """End the connection at once."""
        self.is_over = True
        if self._view is not None and self in self._view.watchers:
            self._view.watchers.remove(self)
        with contextlib.suppress(Exception):
            self._writer.close()

    async def bye(self, text: str) -> None:
        """Say BYE and end."""
        await self.send_line(f"* BYE {text}".encode())
        raise Hangup

    async def start_tls(self) -> None:
        """Shake hands; a second time inside TLS nothing more is understood."""
        if self.is_tls:
            self.is_muted = True
            return
        await self._writer.drain()
        self._shakes_hands = True
        await self._writer.start_tls(self.simulator.tls_context)
        self._shakes_hands = False
        self.is_tls = True

    def capabilities(self, *, all_of_them: bool = False) -> str:
        """The capability list before or after login."""
        words = ["ID", "IMAP4rev1", "STARTTLS"]
        words += ["AUTH=PLAIN"] if self.simulator.settings.has_authenticate else []
        words += ["IDLE"] if self.has_idle else []
        if all_of_them or self._view is not None:
            words += ["MOVE", "UIDPLUS", "UNSELECT"]
        return " ".join(sorted(words))

    async def _serve(self) -> None:
        bad = 0
        while True:
            try:
                command = await self.incoming.command()
            except BadLine as line:
                bad += 1
                if line.looks_like_tls:
                    raise Hangup from None
                await self.send_line(f"{line.tag} BAD [Error offset={line.offset}]: {line.text}".encode())
                if bad == _BAD_LINES:
                    raise Hangup from None
                continue
            except InvalidName as invalid:
                bad = 0
                await self.send_line(f"{invalid.tag} NO utf7: invalid UTF-7".encode())
                continue
            bad = 0
            await self._answer(command)

    async def _answer(self, command: Command) -> None:
        if self.selection is not None and self.selection.mailbox.is_gone:
            await self.bye("IMAP session state is inconsistent, please re-login.")
        began = time.monotonic()
        ends = False
        try:
            await self._fault(f"before {command.verb}")
            ending = await VERBS[command.name](self, command)
        except Refusal as refusal:
            ending = f"{refusal.word} {refusal.text}"
        except (ApiError, RefusedByBridgeError) as error:
            ending = f"NO {error}"
            ends = isinstance(error, ApiError) and error.ends_connection
        if not ending.startswith("OK") and command.name in IN_SELECTED:
            await self.flush(expunges=False)
        micros = int((time.monotonic() - began) * 1_000_000)
        await self._fault(f"after {command.verb}")
        await self.send_line(f"{command.tag} {ending}".replace("{n}", str(micros)).encode("latin-1", "replace"))
        await self._aftermath(command, ends=ends)

    async def _aftermath(self, command: Command, *, ends: bool) -> None:
        if ends or command.name == "LOGOUT":
            raise Hangup
        if command.name == "STARTTLS":
            await self.start_tls()
        if command.name == "DELETE" and self.selection is not None and self.selection.mailbox.is_gone:
            # The connection stays until the next command, which is told that the session is inconsistent.
            await self.send_line(b"* BYE Mailbox was deleted, have to disconnect.")

    async def _fault(self, step: str) -> None:
        fault = self.simulator.faults.due(step)
        if fault is not None:
            await self._carry_out(fault)

    async def _carry_out(self, fault: StepFault) -> None:
        if fault.action == "delay":
            await self.simulator.wait(fault.seconds)
        elif fault.action == "refuse":
            raise Refusal(fault.text)
        elif fault.action == "rebuild":
            self.simulator.rebuild_uidvalidity()
        elif fault.action == "wipe":
            self.simulator.wipe()
        elif fault.action == "bye":
            await self.bye(fault.text)
        elif fault.action == "cut":
            self.send(b"* OK [ALE")
            await self._writer.drain()
            raise Hangup
        else:
            raise Hangup

    # -- IDLE

    @property
    def is_at_rest(self) -> bool:
        """Whether it waits for its client and has nothing to tell."""
        return (self.incoming.is_waiting or self._shakes_hands) and (self._wake is None or not self._wake.is_set())

    async def idle(self, tag: str) -> str:
        """IDLE: tell what happens, in batches, until the client speaks; returns the tagged ending."""
        self.send(b"+ Ready\r\n")
        await self.flush(expunges=True)
        self._wake = asyncio.Event()
        teller = asyncio.create_task(self._tell_batches(self._wake))
        try:
            command = await self.incoming.command()
        except BadLine as line:
            return f"BAD [Error offset={line.offset}]: {line.text}"
        except InvalidName:
            return "BAD"
        finally:
            teller.cancel()
            self._wake = None
        if command.name != "DONE":
            return "BAD"
        await self.flush(expunges=True)
        return "OK IDLE"

    async def _tell_batches(self, wake: asyncio.Event) -> None:
        while True:
            await wake.wait()
            wake.clear()
            await self.simulator.clock.sleep(_IDLE_BATCH)
            await self.flush(expunges=True)
