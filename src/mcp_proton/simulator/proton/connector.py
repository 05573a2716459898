"""Bridge between the local view and the API: what it asks for when a session changes something (facts 5.5 to 5.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.given import GivenLabel
from mcp_proton.simulator.proton import labels as ids
from mcp_proton.simulator.proton.account import NoSuchLabelError
from mcp_proton.simulator.proton.api import PAGE, ApiError, RefusedError
from mcp_proton.simulator.proton.labels import Kind
from mcp_proton.simulator.proton.message import AT_HOME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_proton.simulator.proton.account import Account
    from mcp_proton.simulator.proton.api import Api
    from mcp_proton.simulator.view.store import LocalView, Mailbox

_MESSAGES = "/mail/v4/messages"
_LABELS = "/core/v4/labels"
_DESTROYING = frozenset({ids.TRASH, ids.DRAFTS})
_NOT_A_REASON_TO_KEEP = frozenset({ids.ALL_MAIL, ids.ALL_DRAFTS, ids.ALL_SENT, ids.SCHEDULED})


class RefusedByBridgeError(Exception):
    """Bridge won't do it; the text is the answer."""


NOT_ALLOWED = "operation not allowed"


def pages(message_ids: Sequence[str]) -> Iterator[list[str]]:
    """The ids in portions of one API call each."""
    for start in range(0, len(message_ids), PAGE):
        yield list(message_ids[start : start + PAGE])


class Connector:
    """Changes an account on behalf of one local view."""

    def __init__(self, account: Account, view: LocalView, api: Api) -> None:
        self._account = account
        self._view = view
        self._api = api

    # -- flags

    async def set_read(self, message_ids: Sequence[str], *, read: bool) -> None:
        """Mark read or unread on the server."""
        word = "read" if read else "unread"
        await self._paged(word, message_ids, lambda page: self._account.set_read(page, read=read))

    async def set_forwarded(self, message_ids: Sequence[str], *, on: bool) -> None:
        """Set or clear the mark of a forwarded message."""
        word = "forward" if on else "unforward"
        await self._paged(word, message_ids, lambda page: self._account.set_flag(page, "forwarded", on=on))

    async def set_star(self, message_ids: Sequence[str], *, on: bool) -> None:
        """Star or unstar."""
        await (self.label if on else self.unlabel)(message_ids, ids.STARRED)
        if on and self._api.settings.star_marks_read:
            self._account.set_read(message_ids, read=True)

    def in_any_order(self, message_ids: Sequence[str]) -> list[str]:
        """The order in which Bridge names messages when it changes flags: that of its own random ids; here the account's."""
        known = {message_id: number for number, message_id in enumerate(self._account.messages)}
        return sorted(message_ids, key=lambda one: known.get(one, -1))

    # -- places and labels

    async def label(self, message_ids: Sequence[str], label_id: str) -> None:
        """The label call, page by page."""
        await self._paged("label", message_ids, lambda page: self._account.label(page, label_id))

    async def unlabel(self, message_ids: Sequence[str], label_id: str) -> None:
        """The unlabel call, page by page."""
        await self._paged("unlabel", message_ids, lambda page: self._account.unlabel(page, label_id))

    async def add(self, message_ids: Sequence[str], to: Mailbox) -> None:
        """COPY: one label call, whatever that does on the server."""
        if to.kind in {Kind.ALL, Kind.SCHEDULED}:
            raise RefusedByBridgeError(NOT_ALLOWED)
        await self.label(message_ids, to.id)
        if to.kind is Kind.LABEL and self._api.settings.label_takes_place:
            self._take_out(message_ids)

    async def move(self, message_ids: Sequence[str], source: Mailbox, to: Mailbox) -> bool:
        """MOVE: label, then perhaps unlabel; True if the message leaves the source in the local view."""
        if {source.id, to.id} == {ids.INBOX, ids.SENT} or {source.kind, to.kind} & {Kind.ALL, Kind.SCHEDULED}:
            raise RefusedByBridgeError(NOT_ALLOWED)
        leaves = source.kind is Kind.LABEL or to.kind is Kind.FOLDER or to.id in ids.ACCOUNT_NAMES
        try:
            await self.label(message_ids, to.id)
        except ApiError as error:
            raise ApiError(f"labeling messages: {error}") from None
        if leaves:
            try:
                await self.unlabel(message_ids, source.id)
            except ApiError as error:
                raise ApiError(f"unlabeling messages: {error}") from None
        if self._api.settings.move_loses_place:
            self._take_out(message_ids)
        # A node isn't a system mailbox to Bridge, but a label is given up for anything.
        return leaves

    async def remove(self, message_ids: Sequence[str], mailbox: Mailbox) -> None:
        """EXPUNGE, and the step before a COPY or MOVE onto a mailbox that has the message already.

        In Trash and Drafts what no label, star or place holds afterwards is deleted for good.
        """
        if mailbox.kind in {Kind.ALL, Kind.SCHEDULED}:
            raise RefusedByBridgeError(NOT_ALLOWED)
        await self.unlabel(message_ids, mailbox.id)
        if mailbox.kind is Kind.LABEL and self._api.settings.unlabel_takes_place:
            self._take_out(message_ids)
        if mailbox.id not in _DESTROYING or self._api.settings.expunge_hides:
            return
        doomed: list[str] = []
        for page in pages(message_ids):
            doomed += await self._api.call("POST", _MESSAGES, lambda page=page: self._unheld(page))  # type: ignore[misc] # a bound default
        await self._destroy(doomed)

    def _take_out(self, message_ids: Sequence[str]) -> None:
        """Take them out of whatever place they are in."""
        for message in [self._account.messages[one] for one in message_ids if one in self._account.messages]:
            if message.place is not None:
                self._account.unlabel([message.id], ids.INBOX if message.place == AT_HOME else message.place)

    async def _destroy(self, doomed: list[str]) -> None:
        """Delete for good. Of several pages the others go on when one fails, and the connection ends (facts 12.1)."""
        failed: ApiError | None = None
        for page in pages(doomed):
            try:
                await self._paged("delete", page, self._delete)
            except ApiError as error:
                failed = failed or error
        if failed is not None:
            failed.ends_connection = len(doomed) > PAGE
            raise failed

    def _unheld(self, message_ids: list[str]) -> list[str]:
        known = [self._account.messages[one] for one in message_ids if one in self._account.messages]
        return [message.id for message in known if not any(self._holds(one) for one in message.label_ids)]

    def _holds(self, label_id: str) -> bool:
        if label_id in _NOT_A_REASON_TO_KEEP:
            return False
        if label_id in self._view.mailboxes or label_id in ids.ACCOUNT_NAMES:
            return True
        # What Bridge doesn't know it looks up as folder and as system label, never as label.
        label = self._account.labels.get(label_id)
        return label is not None and label.folder

    def _delete(self, page: list[str]) -> None:
        if not any(one in self._account.messages for one in page):
            raise RefusedError(422, "422 Unprocessable Entity")
        self._account.delete(page)

    # -- mailboxes

    async def create(self, path: str) -> str:
        """CREATE one level; returns the new label's id."""
        parts = path.split("/")
        if len(parts) < 2 or parts[0] not in {ids.FOLDERS_NODE, ids.LABELS_NODE}:
            words = " ".join(f'"{part}"' for part in parts)
            raise RefusedByBridgeError(f"invalid mailbox name [{words}]: {NOT_ALLOWED}")
        folder = parts[0] == ids.FOLDERS_NODE
        if not folder and len(parts) > 2:
            raise RefusedByBridgeError(f"a label cannot have children: {NOT_ALLOWED}")
        return await self._api.call("POST", _LABELS, lambda: self._create(parts, folder=folder))

    def _create(self, parts: list[str], *, folder: bool) -> str:
        head = "/".join(parts[:-1])
        parent = self._parent(head) if len(parts) > 2 else None
        if self._account.name_is_taken(parts[-1], parent):
            raise RefusedError(409, "409 Conflict")
        return self._account.add_label(GivenLabel(parts[-1], folder=folder, parent=head if parent else "")).id

    async def rename(self, mailbox: Mailbox, path: str) -> None:
        """RENAME within the same kind."""
        parts = path.split("/")
        folder = parts[0] == ids.FOLDERS_NODE
        if len(parts) < 2 or parts[0] not in {ids.FOLDERS_NODE, ids.LABELS_NODE}:
            words = " ".join(f'"{part}"' for part in parts)
            raise RefusedByBridgeError(f"invalid mailbox name [{words}]: {NOT_ALLOWED}")
        if not folder and len(parts) > 2:
            raise RefusedByBridgeError(f"a label cannot have children: {NOT_ALLOWED}")
        label = self._account.labels.get(mailbox.id)
        if label is None or label.folder is not folder:
            raise RefusedByBridgeError("no such label")
        parent = self._parent("/".join(parts[:-1])) if len(parts) > 2 else None
        await self._api.call("PUT", f"{_LABELS}/{label.id}", lambda: self._rename(label.id, parts[-1], parent))

    def _rename(self, label_id: str, name: str, parent: str | None) -> None:
        if self._account.name_is_taken(name, parent, but=label_id):
            raise RefusedError(409, "409 Conflict")
        self._account.change_label(label_id, name=name, parent=parent)

    def _parent(self, path: str) -> str:
        """Another device can have deleted or renamed it, and no event told of that yet."""
        try:
            return self._account.label_by_path(path).id
        except NoSuchLabelError as error:
            raise RefusedByBridgeError(str(error)) from None

    async def delete(self, mailbox: Mailbox) -> None:
        """DELETE; what isn't the owner's own label is refused by the server."""
        await self._api.call("DELETE", f"{_LABELS}/{mailbox.id}", lambda: self._delete_label(mailbox.id))

    def _delete_label(self, label_id: str) -> None:
        if label_id not in self._account.labels:
            raise RefusedError(400, "400 Bad Request")
        self._account.delete_label(label_id)

    async def _paged(self, word: str, message_ids: Sequence[str], do: Callable[[list[str]], None]) -> None:
        for page in pages(message_ids):
            await self._api.call("PUT", f"{_MESSAGES}/{word}", lambda page=page: do(page))  # type: ignore[misc] # a bound default
