"""What a mailbox is for: SPECIAL-USE attributes first (RFC 6154), then names that everybody uses.

A role that at most one mailbox can have goes to the first that claims it by attribute, else to the first by name;
what is left over is a FOLDER. A mailbox that holds no mail is a NODE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict
from mcp_proton.domain.mail import UNIQUE_ROLES, Mailbox, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_proton.imap.protocol.responses import ListEntry

_ATTRIBUTES: Mapping[str, Role] = {
    "\\all": Role.ALL,
    "\\archive": Role.ARCHIVE,
    "\\drafts": Role.DRAFTS,
    "\\flagged": Role.STARRED,
    "\\important": Role.LABEL,
    "\\junk": Role.SPAM,
    "\\sent": Role.SENT,
    "\\trash": Role.TRASH,
}
_NAMES: Mapping[str, Role] = {
    "archive": Role.ARCHIVE,
    "archives": Role.ARCHIVE,
    "drafts": Role.DRAFTS,
    "draft": Role.DRAFTS,
    "sent": Role.SENT,
    "sent items": Role.SENT,
    "sent mail": Role.SENT,
    "sent messages": Role.SENT,
    "trash": Role.TRASH,
    "deleted items": Role.TRASH,
    "deleted messages": Role.TRASH,
    "bin": Role.TRASH,
    "spam": Role.SPAM,
    "junk": Role.SPAM,
    "junk e-mail": Role.SPAM,
    "junk mail": Role.SPAM,
}
_EMPTY = frozenset({"\\noselect", "\\nonexistent"})


def mailboxes(account: str, entries: Iterable[ListEntry], names: Mapping[str, Role] | None = None) -> list[Mailbox]:
    """The mailboxes of an ordinary IMAP account, parents first. `names`: further ones that say a role, in lower case.
    Raises `Conflict` when two tags collide."""
    known = {**_NAMES, **(names or {})}
    listed = [entry for entry in entries if entry.name]
    by_attribute = _claims(listed, special_use)
    taken = {role for role in by_attribute.values() if role in UNIQUE_ROLES}
    by_name = _claims(listed, lambda entry: _free(well_known(entry.name, entry.delimiter, known), taken))
    return arranged(
        [
            make(account, entry, by_attribute.get(entry.name) or by_name.get(entry.name) or Role.FOLDER)
            for entry in listed
        ]
    )


def make(account: str, entry: ListEntry, role: Role) -> Mailbox:
    """One mailbox. Its id is the name on the wire, so that a handle outlives the way names are shown."""
    holds = holds_mail(entry)
    return Mailbox(
        account=account,
        id=entry.wire.decode("utf-8", "surrogateescape"),
        path=entry.name,
        role=role if holds else Role.NODE,
        delimiter=entry.delimiter or "",
        selectable=holds,
        subscribed=True if "\\subscribed" in _lower(entry) else None,
    )


def holds_mail(entry: ListEntry) -> bool:
    """Whether it can be opened (RFC 9051 §7.3.1)."""
    return not (_lower(entry) & _EMPTY)


def special_use(entry: ListEntry) -> Role | None:
    """The role its attributes claim. INBOX needs none: the name is the role (RFC 9051 §5.1)."""
    if entry.name.upper() == "INBOX":
        return Role.INBOX
    return next((_ATTRIBUTES[word] for word in sorted(_lower(entry)) if word in _ATTRIBUTES), None)


def well_known(path: str, delimiter: str | None, names: Mapping[str, Role] = _NAMES) -> Role | None:
    """The role a name claims: at the top, or directly below INBOX, where some servers put everything."""
    segments = path.split(delimiter) if delimiter else [path]
    if len(segments) == 2 and segments[0].upper() == "INBOX":
        segments = segments[1:]
    return names.get(segments[0].casefold()) if len(segments) == 1 else None


def arranged(boxes: Sequence[Mailbox]) -> list[Mailbox]:
    """Parents before children, INBOX and roles before folders; the same order whatever order the server chose."""
    _refuse_collisions(boxes)
    ranks = {role: rank for rank, role in enumerate(Role)}
    top = {box.path: ranks[box.role] for box in boxes}

    def place(box: Mailbox) -> tuple[int, list[str]]:
        segments = box.path.split(box.delimiter) if box.delimiter else [box.path]
        return top.get(segments[0], ranks[box.role]), [segment.casefold() for segment in segments] + [box.path]

    return sorted(boxes, key=place)


def _refuse_collisions(boxes: Sequence[Mailbox]) -> None:
    seen: dict[str, Mailbox] = {}
    for box in boxes:
        other = seen.setdefault(box.tag, box)
        if other is not box and other.id != box.id:
            raise Conflict(
                f"the mailboxes `{other.path}` and `{box.path}` would have the same tag in handles",
                code="tag_collision",
                next="ask the owner to rename one of them",
            )


def _claims(entries: Sequence[ListEntry], claim: Callable[[ListEntry], Role | None]) -> dict[str, Role]:
    given: dict[str, Role] = {}
    taken: set[Role] = set()
    for entry in sorted(entries, key=lambda one: (one.name.count(one.delimiter or "/"), one.name)):
        role = claim(entry)
        if role is None or role in taken or not holds_mail(entry):
            continue
        given[entry.name] = role
        if role in UNIQUE_ROLES:
            taken.add(role)
    return given


def _free(role: Role | None, taken: set[Role]) -> Role | None:
    return None if role in taken else role


def _lower(entry: ListEntry) -> frozenset[str]:
    return frozenset(word.lower() for word in entry.attributes)
