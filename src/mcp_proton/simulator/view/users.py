"""An account as Bridge has it signed in: its password, its views (one, or one per address), its place in the event log."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Literal

from mcp_proton.simulator.proton.connector import Connector
from mcp_proton.simulator.view.events import Follower, merged
from mcp_proton.simulator.view.store import LocalView

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from mcp_proton.simulator.proton.account import Account, Change
    from mcp_proton.simulator.proton.api import Api
    from mcp_proton.simulator.smtp.service import SendingService
    from mcp_proton.simulator.view.served import Shelf

AddressMode = Literal["combined", "split"]


class Tree:
    """One IMAP login's mailboxes, with what keeps them after the account and what changes the account for them."""

    def __init__(self, view: LocalView, connector: Connector, follower: Follower) -> None:
        self.view = view
        self.connector = connector
        self.follower = follower


class BridgeUser:
    """A signed-in (or signed-out) account of Bridge; `sending` is what Bridge keeps for its mail by SMTP."""

    def __init__(
        self,
        account: Account,
        *,
        api: Api,
        shelf: Shelf,
        draw_uidvalidity: Callable[[], int],
        random_source: random.Random,
        sending: SendingService,
        mode: AddressMode = "combined",
    ) -> None:
        self.account = account
        self.sending = sending
        self.signed_in = True
        self.mode: AddressMode = mode
        self.trees: dict[str, Tree] = {}
        self.addresses = dict(account.addresses)
        self._api = api
        self._shelf = shelf
        self._draw = draw_uidvalidity
        self._random = random_source
        self._read_to = 0
        self.password = base64.urlsafe_b64encode(random_source.randbytes(16)).rstrip(b"=").decode()

    # -- login

    def tree_for(self, address: str) -> Tree | None:
        """The tree a login with this address opens; None if there is no such enabled address or nobody is signed in."""
        if not self.has_enabled(address) or not self.signed_in:
            return None
        named = next(one for one in self.addresses if one.lower() == address.lower())
        return self.trees.get(named if self.mode == "split" else "")

    def has_enabled(self, address: str) -> bool:
        """Whether this is an address of the account, in any case, that Bridge knows as enabled."""
        return any(one.lower() == address.lower() and enabled for one, enabled in self.addresses.items())

    # -- sync

    def begin_sync(self) -> None:
        """Throw the local data away and start a first sync; `sync_some` goes on with it."""
        self._read_to = len(self.account.log)
        for address in list(self.addresses) if self.mode == "split" else [""]:
            self._tree(address).follower.begin_sync()

    def _tree(self, address: str) -> Tree:
        if address not in self.trees:
            view = LocalView(self._draw)
            self.trees[address] = Tree(
                view,
                Connector(self.account, view, self._api),
                Follower(self.account, view, self._shelf, self._random, address or None),
            )
        return self.trees[address]

    def sync_some(self, count: int) -> None:
        """Bring in so many more messages of the first sync, in every tree."""
        for tree in self.trees.values():
            tree.follower.sync_some(count)

    @property
    def is_syncing(self) -> bool:
        """Whether the first sync is under way."""
        return any(tree.follower.to_sync for tree in self.trees.values())

    def finish_sync(self) -> None:
        """Bring in all that is left of the first sync."""
        while self.is_syncing:
            self.sync_some(1_000_000)

    def switch_mode(self, mode: AddressMode) -> None:
        """Another address mode: everything local is thrown away and loaded anew."""
        self.mode = mode
        self.trees.clear()
        self.begin_sync()
        self.finish_sync()

    # -- events

    @property
    def has_events(self) -> bool:
        """Whether the account's log goes further than Bridge has read."""
        return self._read_to < len(self.account.log)

    def poll(self) -> Literal["done", "refresh", "given up"]:
        """Fetch and apply all events; says so if the server asked for a refresh or Bridge gave the account up."""
        if self.account.is_revoked and self.signed_in:
            return "given up"
        if not self.signed_in or self.is_syncing or self._api.refuses("GET", "/core/v5/events/latest") is not None:
            return "done"
        self._learn_addresses()
        end = len(self.account.log)
        for change in merged(self.account.log[self._read_to : end]):
            if change.what == "refresh":
                self._read_to = end
                return "refresh"
            if not self._can_load(change):
                return "given up"
            for tree in self.trees.values():
                tree.follower.apply(change)
        self._read_to = end
        return "done"

    def _learn_addresses(self) -> None:
        new = self.account.addresses.keys() - self.addresses.keys()
        self.addresses = dict(self.account.addresses)
        for address in sorted(new) if self.mode == "split" else ():
            tree = self._tree(address)
            tree.follower.begin_sync()
            tree.follower.sync_some(len(self.account.messages))

    def _can_load(self, change: Change) -> bool:
        if change.what != "message" or change.how != "created" or change.id not in self.account.messages:
            return True
        refused = self._api.refuses("GET", f"/mail/v4/messages/{change.id}")
        return refused is None or refused.status != 400
