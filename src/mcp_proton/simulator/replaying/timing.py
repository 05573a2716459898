"""How far a first sync has come when a recording asks: recordings made meanwhile carry the moments in their numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap import names

if TYPE_CHECKING:
    from mcp_proton.simulator.imap.session import Session
    from mcp_proton.simulator.server import Simulator
    from mcp_proton.simulator.view.store import LocalView, Mailbox

_EXISTS = re.compile(r"\* (\d+) EXISTS")
_STATUS = re.compile(r'\* STATUS "(.*)" \((.*)\)')


class FirstSync:
    """Lets a first sync go on until the counts a recorded reply shows are reached; never further."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def keep_up_with(self, session: Session, replies: list[str]) -> None:
        """Go on to the moment at which these replies were given."""
        self._simulator.on_status(None)
        for reply in map(str, replies):
            exists = _EXISTS.match(reply)
            if exists and session.selected_mailbox is not None:
                self._sync_until(session.selected_mailbox, int(exists.group(1)))
            status = _STATUS.match(reply)
            if status:
                self._before_status(session.view, status.group(1), status.group(2).split())

    def _before_status(self, view: LocalView, name: str, items: list[str]) -> None:
        mailbox = view.by_path(names.decode(name.encode()))
        values = dict(zip(items[::2], map(int, items[1::2]), strict=False))
        if mailbox is None or "MESSAGES" not in values:
            return
        self._sync_until(mailbox, values["MESSAGES"])
        if "UIDNEXT" in values:
            self._simulator.on_status(lambda asked: self._sync_until(asked, values["UIDNEXT"] - 1))

    def _sync_until(self, mailbox: Mailbox, count: int) -> None:
        while len(mailbox.entries) < count and any(user.is_syncing for user in self._simulator.users):
            self._simulator.sync_some(1)
