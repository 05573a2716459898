"""LIST, LSUB, SELECT, EXAMINE, STATUS, CREATE, DELETE, RENAME and subscriptions (facts 2 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.imap import names
from mcp_proton.simulator.imap.answers import EXISTS_ALREADY, NO_SUCH_MAILBOX, Refusal
from mcp_proton.simulator.imap.selection import Selection
from mcp_proton.simulator.proton import labels as ids
from mcp_proton.simulator.proton.connector import NOT_ALLOWED
from mcp_proton.simulator.proton.labels import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.simulator.imap.commands import Command
    from mcp_proton.simulator.imap.session import Session
    from mcp_proton.simulator.view.store import LocalView, Mailbox


_ANYWHERE = 10_000


def _found(session: Session, path: str) -> Mailbox:
    mailbox = session.view.by_path(path)
    if mailbox is None:
        raise Refusal(NO_SUCH_MAILBOX)
    return mailbox


# -- LIST and LSUB


async def list_mailboxes(session: Session, command: Command) -> None:
    """LIST, or LSUB over what is subscribed."""
    if command.name == "LIST" and not command.mailbox:
        head, slash, _ = command.other.partition(names.DELIMITER)
        root = head + slash if slash else ""
        await session.send_line(f'* LIST (\\Noselect) "/" {names.quoted(names.encode(root))}'.encode())
        return
    matches = names.pattern(command.other, command.mailbox).fullmatch
    lines = _subscribed(session.view, command.mailbox) if command.name == "LSUB" else _all(session.view)
    for path, attributes in session.simulator.any_order(sorted(lines), _ANYWHERE):
        if matches(path) and not _is_hidden(session, path):
            shown = " ".join(sorted(attributes))
            line = f'* {command.name} ({shown}) "/" {names.quoted(names.encode(path))}'
            await session.send_line(line.encode())


def _all(view: LocalView) -> Iterator[tuple[str, tuple[str, ...]]]:
    there = {mailbox.path for mailbox in view.mailboxes.values()}
    invented: set[str] = set()
    for mailbox in view.mailboxes.values():
        yield mailbox.path, _attributes(mailbox)
        invented.update(parent for parent in names.parents(mailbox.path) if parent not in there)
    for parent in invented:
        yield parent, ("\\Noselect",)


def _subscribed(view: LocalView, wanted: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    subscribed = {mailbox.path: mailbox for mailbox in view.mailboxes.values() if mailbox.subscribed}
    for path, mailbox in subscribed.items():
        yield path, _attributes(mailbox)
    without = {path for path in view.deleted_subscriptions if path not in subscribed}
    if "%" in wanted:
        parents = {parent for path in [*subscribed, *without] for parent in names.parents(path)}
        without |= parents - subscribed.keys()
    for path in without:
        yield path, ("\\Noselect",)


def _attributes(mailbox: Mailbox) -> tuple[str, ...]:
    is_marked = any(entry.recent for entry in mailbox.entries.values())
    return (*mailbox.attributes, "\\Marked" if is_marked else "\\Unmarked")


def _is_hidden(session: Session, path: str) -> bool:
    mailbox = session.view.by_path(path)
    if mailbox is None:
        return False
    if mailbox.kind is Kind.ALL:
        return not session.simulator.settings.show_all_mail
    return mailbox.kind in {Kind.SCHEDULED, Kind.RECOVERED} and not mailbox.entries


# -- SELECT and STATUS


async def select(session: Session, command: Command) -> str:
    """SELECT or EXAMINE; a mailbox that isn't there leaves the old one selected. Returns the tagged text."""
    mailbox = _found(session, command.mailbox)
    read_only = command.name == "EXAMINE"
    session.selection = selection = Selection(mailbox, read_only=read_only)
    flags = " ".join(mailbox.permanent_flags)
    await session.send_line(f"* FLAGS ({flags})".encode())
    await session.send_line(f"* {len(selection.entries)} EXISTS".encode())
    await session.send_line(f"* {selection.recent_count} RECENT".encode())
    unseen = selection.first_unseen
    codes = [
        (f"PERMANENTFLAGS ({flags})", "Flags permitted"),
        (f"UIDNEXT {mailbox.uidnext}", "Predicted next UID"),
        (f"UIDVALIDITY {mailbox.uidvalidity}", "UIDs valid"),
        *([] if unseen is None else [(f"UNSEEN {unseen}", "Unseen messages")]),
    ]
    for code, text in codes:
        await session.send_line((f"* OK [{code}]" if read_only else f"* OK [{code}] {text}").encode())
    return f"[{'READ-ONLY' if read_only else 'READ-WRITE'}] {command.name}"


async def status(session: Session, command: Command) -> None:
    """STATUS; sends the selected mailbox's EXPUNGEs along, whichever mailbox was asked for."""
    mailbox = _found(session, command.mailbox)
    await session.flush(expunges=True)
    values = {**_counts(session, mailbox), "UIDVALIDITY": mailbox.uidvalidity}
    # Bridge reads UIDNEXT at another moment than the counts; during a first sync the two don't fit each other.
    session.simulator.between_status_reads(mailbox)
    values["UIDNEXT"] = mailbox.uidnext
    name = names.quoted(names.encode(mailbox.path))
    items = " ".join(f"{word} {values[word]}" for word in command.words)
    await session.send_line(f"* STATUS {name} ({items})".encode())


def _counts(session: Session, mailbox: Mailbox) -> dict[str, int]:
    """Of the selected mailbox as the session knows it."""
    selection = session.selection
    if selection is not None and selection.mailbox is mailbox:
        flags = selection.flags
        recent = selection.recent_count
    else:
        flags = [message.flags for message in mailbox.entries]
        recent = sum(entry.recent for entry in mailbox.entries.values())
    return {"MESSAGES": len(flags), "RECENT": recent, "UNSEEN": sum("\\Seen" not in one for one in flags)}


# -- CREATE, DELETE, RENAME


async def create(session: Session, command: Command) -> None:
    """CREATE, missing parents first; what was made on the server before a refusal stays there."""
    path = command.mailbox
    if path == "INBOX":
        raise Refusal("cannot create INBOX")
    if path.startswith(ids.RECOVERED):
        raise Refusal(NOT_ALLOWED)
    if path.startswith(names.DELIMITER):
        raise Refusal("invalid mailbox name: begins with hierarchy separator")
    if names.DELIMITER * 2 in path:
        raise Refusal("invalid mailbox name: has adjacent hierarchy separators")
    path = path.removesuffix(names.DELIMITER)
    if session.view.by_path(path) is not None:
        raise Refusal(EXISTS_ALREADY)
    made = await _make_missing(session, [*names.parents(path), path])
    # One number for all that one CREATE makes.
    uidvalidity = session.view.draw_uidvalidity()
    for one, label_id in made:
        _show_new(session.view, one, label_id, uidvalidity)


async def _make_missing(session: Session, paths: list[str]) -> list[tuple[str, str]]:
    missing = [path for path in paths if session.view.by_path(path) is None]
    return [(path, await session.connector.create(path)) for path in missing]


def _show_new(view: LocalView, path: str, label_id: str, uidvalidity: int | None = None) -> Mailbox:
    kind = Kind.FOLDER if path.startswith(ids.FOLDERS_NODE + names.DELIMITER) else Kind.LABEL
    return view.add_mailbox(label_id, path, kind, uidvalidity=uidvalidity)


async def delete(session: Session, command: Command) -> None:
    """DELETE; the server decides about everything but INBOX and Recovered Messages."""
    if command.mailbox == "INBOX":
        raise Refusal("cannot delete INBOX")
    mailbox = _found(session, command.mailbox)
    if mailbox.kind is Kind.RECOVERED:
        raise Refusal(NOT_ALLOWED)
    await session.connector.delete(mailbox)
    session.view.drop_mailbox(mailbox, keep_subscription=True)


async def rename(session: Session, command: Command) -> None:
    """RENAME; of INBOX it makes a mailbox and files everything there."""
    new = command.other.removesuffix(names.DELIMITER)
    mailbox = _found(session, command.mailbox)
    if mailbox.kind is Kind.RECOVERED or new.startswith(ids.RECOVERED):
        raise Refusal(NOT_ALLOWED)
    if session.view.by_path(new) is not None or new.startswith(mailbox.path + names.DELIMITER):
        raise Refusal(EXISTS_ALREADY)
    made = await _make_missing(session, names.parents(new))
    if mailbox.id == ids.INBOX:
        made.append((new, await session.connector.create(new)))
    else:
        await session.connector.rename(mailbox, new)
    for path, label_id in made:
        _show_new(session.view, path, label_id)
    if mailbox.id == ids.INBOX:
        await _file_inbox(session, mailbox, new)
    else:
        _repath(session.view, mailbox.path, new)


async def _file_inbox(session: Session, inbox: Mailbox, new: str) -> None:
    target = _found(session, new)
    messages = list(inbox.entries)
    if not messages:
        return
    leaves = await session.connector.move([message.remote_id for message in messages], inbox, target)
    for message in messages:
        session.view.put(target, message)
        if leaves:
            session.view.take(inbox, message)


def _repath(view: LocalView, old: str, new: str) -> None:
    for mailbox in view.mailboxes.values():
        if mailbox.path == old or mailbox.path.startswith(old + names.DELIMITER):
            mailbox.path = new + mailbox.path[len(old) :]


async def subscribe(session: Session, command: Command) -> str:
    """SUBSCRIBE and UNSUBSCRIBE; returns the tagged text."""
    path = command.mailbox
    if command.name == "UNSUBSCRIBE" and path in session.view.deleted_subscriptions:
        session.view.deleted_subscriptions.discard(path)
        return "UNSUBSCRIBE"
    mailbox = _found(session, path)
    wanted = command.name == "SUBSCRIBE"
    if mailbox.subscribed is wanted:
        raise Refusal(f"{'already' if wanted else 'not'} subscribed to this mailbox")
    mailbox.subscribed = wanted
    return "SUB" if wanted else "UNSUBSCRIBE"
