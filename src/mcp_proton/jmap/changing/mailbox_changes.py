"""Making, renaming, deleting and showing mailboxes (RFC 8621 §2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict, Defect, Invalid, MailError, NotFound, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.jmap.changing import refusals
from mcp_proton.jmap.errors import MethodFailed, acted, unsure
from mcp_proton.jmap.mailboxes import DELIMITER
from mcp_proton.jmap.occurrences import pages
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

LONGEST_PATH = 1_000
_TAKEN = "a mailbox of that path exists already"


class MailboxChanges:
    """`labels` is the path below which mailboxes are labels, where the owner named one."""

    def __init__(self, client: Client, mailboxes: Mailboxes, labels: str | None) -> None:
        self._client, self._mailboxes, self._labels = client, mailboxes, labels

    async def create(self, path: str, role: Role) -> Mailbox:
        """Make a mailbox, with the parents it lacks, in one request."""
        self._only(role, "made")
        self._check(path, role)
        boxes = {box.path: box for box in await self._mailboxes.all(fresh=True)}
        if path in boxes:
            raise Conflict(_TAKEN, code="name_taken", next="choose another path")
        created, _ = _with_parents(path, boxes)
        await self._set({"create": created})
        return await self._found(path)

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """Give it another path; what is below it comes along."""
        self._only(box.role, "renamed")
        self._check(path, box.role)
        boxes = {one.path: one for one in await self._mailboxes.all(fresh=True)}
        if path == box.path or path.startswith(box.path + DELIMITER):
            raise Invalid("a mailbox cannot be moved into itself", code="invalid_path")
        if path in boxes and boxes[path].id != box.id:
            raise Conflict(_TAKEN, code="name_taken", next="choose another path")
        created, parent = _with_parents(path.rpartition(DELIMITER)[0], boxes) if DELIMITER in path else ({}, None)
        arguments: Object = {"update": {box.id: {"name": path.rpartition(DELIMITER)[2], "parentId": parent}}}
        await self._set(arguments | ({"create": created} if created else {}))
        return await self._found(path)

    async def remove(self, box: Mailbox) -> None:
        """Delete it, if nothing is in it that would be lost. The server refuses one that got mail meanwhile."""
        self._only(box.role, "deleted")
        if box.role is Role.LABEL:
            await self._empty(box)
        await self._set({"destroy": [box.id], "onDestroyRemoveEmails": False})

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """Show or hide it in other programs."""
        await self._set({"update": {box.id: {"isSubscribed": on}}})

    async def _empty(self, label: Mailbox) -> None:
        """Take a label off all that carries it. What is in no other mailbox would be lost with it, so it stays."""
        most = await self._client.limits()
        size = min(most.objects_in_get, most.objects_in_set)
        query = {"filter": {"inMailbox": label.id}, "collapseThreads": False, "limit": size}
        for _ in range(10_000):
            (found,) = await self._client.demand(Call("Email/query", query))
            ids = [values.identifier(one) for one in values.sequence(found.get("ids"))]
            if not ids:
                return
            for some in pages(ids, size):
                await self._taken_off(label, some)

    async def _taken_off(self, label: Mailbox, ids: Sequence[str]) -> None:
        (told,) = await self._client.demand(Call("Email/get", {"ids": ids, "properties": ["id", "mailboxIds"]}))
        emails = values.listed(told)
        if any(values.keys_of(email.get("mailboxIds")) <= {label.id} for email in emails):
            raise Conflict(
                "there is mail that only this label holds", code="not_empty", next="move that mail into a folder first"
            )
        patches = {values.identifier(email["id"]): {f"mailboxIds/{label.id}": None} for email in emails}
        arguments = {"ifInState": values.state(told.get("state")), "update": patches}
        (answer,) = await self._client.ask(Call("Email/set", arguments), changes=True)
        if isinstance(answer, MethodFailed) and answer.kind != "stateMismatch":
            raise refusals.of_method(answer)
        if not isinstance(answer, MethodFailed) and answer.get("notUpdated"):
            raise Conflict("the label could not be taken off all mail", code="not_empty")

    def _check(self, path: str, role: Role) -> None:
        """Raise `Invalid` for a path no mailbox of that role can have."""
        good = all(name and name.strip() == name and name.isprintable() for name in path.split(DELIMITER))
        if not good or len(path) > LONGEST_PATH:
            raise Invalid("a path has names of printable characters, without blanks around them", code="invalid_path")
        below = self._labels is not None and path.startswith(self._labels + DELIMITER)
        if below is not (role is Role.LABEL):
            raise Invalid(
                f"labels are below `{self._labels}`, and nothing else is"
                if self._labels
                else "there are no labels here",
                code="invalid_path",
            )

    def _only(self, role: Role, done: str) -> None:
        if role is not Role.FOLDER and not (role is Role.LABEL and self._labels is not None):
            raise Unsupported(f"a mailbox of the role `{role.value}` cannot be {done} here")

    async def _set(self, arguments: Mapping[str, object]) -> None:
        self._mailboxes.forget()
        (answer,) = await self._client.ask(Call("Mailbox/set", arguments), changes=True)
        if isinstance(answer, MethodFailed):
            raise refusals.of_method(answer)
        with acted():
            for kind in ("notCreated", "notUpdated", "notDestroyed"):
                for told in values.mapping(answer.get(kind) or {}).values():
                    raise _refused(values.mapping(told))
            for kind, asked in (("create", "created"), ("update", "updated")):
                if len(values.mapping(answer.get(asked) or {})) < len(arguments.get(kind) or ()):  # type: ignore[arg-type]
                    raise refusals.not_told()
            if len(values.sequence(answer.get("destroyed") or [])) < len(arguments.get("destroy") or ()):  # type: ignore[arg-type]
                raise refusals.not_told()

    async def _found(self, path: str) -> Mailbox:
        """The mailbox that was made. That it cannot be looked at does not say that it was not."""
        try:
            boxes = await self._mailboxes.all(fresh=True)
        except MailError as error:
            raise unsure(error) from error
        for box in boxes:
            if box.path == path:
                return box
        raise Defect("the mail server does not list the mailbox it just made")


def _with_parents(path: str, boxes: Mapping[str, Mailbox]) -> tuple[dict[str, Object], str | None]:
    """What has to be made for a path to exist, the highest first, and the id (or creation id) of its end."""
    created: dict[str, Object] = {}
    parent: str | None = None
    names = path.split(DELIMITER)
    for count in range(1, len(names) + 1):
        known = boxes.get(DELIMITER.join(names[:count]))
        if known is not None:
            parent = known.id
            continue
        created[f"n{count}"] = {"name": names[count - 1], "parentId": parent, "isSubscribed": True}
        parent = f"#n{count}"
    return created, parent


def _refused(told: Object) -> MailError:
    match values.text(told.get("type")):
        case "mailboxHasChild":
            return Conflict("there are mailboxes in this folder", code="not_empty", next="move or delete them first")
        case "mailboxHasEmail":
            return Conflict("there is mail in this folder", code="not_empty", next="move the mail out of it first")
        case "notFound":
            return NotFound("there is no such mailbox")
        case "alreadyExists":
            return Conflict(_TAKEN, code="name_taken", next="choose another path")
    return Invalid("the mail server refuses that", code="server_refused")
