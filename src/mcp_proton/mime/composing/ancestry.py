"""Message-ID, In-Reply-To, References (RFC 5322 §3.6.4) of a mail → those of an answer to it.

Bridge adds `<…@protonmail.internalid>` to the References of every mail it serves; those are its own names and never
passed on as ancestors. A server's own reference to the parent (the anchor) stands last, where Bridge looks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.mime.composing.fields import writable_id
from mcp_proton.mime.header.headers import message_ids

if TYPE_CHECKING:
    from mcp_proton.mime.header.headers import Headers

MOST = 50
"""Ancestors named in an answer: the first and the last ones."""
MOST_OCTETS = 4_000

_INTERNAL = "protonmail.internalid"


class Ancestry(NamedTuple):
    """What an answer says of the mails before it: both or, where the parent has no name at all, neither."""

    in_reply_to: str | None
    references: tuple[str, ...]


def is_internal(one: str) -> bool:
    """Whether Bridge would take a message id for one that it made up for a message of its account.

    Wherever the word stands: Bridge cuts references at commas too, and deletes a draft that is named so.
    """
    return _INTERNAL in one.lower()


def replying(headers: Headers, anchor: str | None = None) -> Ancestry:
    """Return the fields of a reply to the mail with these headers.

    Both fields are given: Bridge marks the parent as forwarded, not answered, if only References names it.
    """
    parent = _parent(headers, anchor)
    named = parent or anchor
    return Ancestry(named, _references(headers, parent, anchor)) if named else Ancestry(None, ())


def forwarding(headers: Headers, anchor: str | None = None) -> Ancestry:
    """Return the fields of a mail that passes this one on: it belongs to the thread, but answers nobody."""
    return Ancestry(None, _references(headers, _parent(headers, anchor), anchor))


def ancestors(headers: Headers) -> tuple[str, ...]:
    """Return the mails before this one, oldest first: References, or a single In-Reply-To where there are none."""
    given = _kept(headers, "References")
    if given:
        return given
    parents = _kept(headers, "In-Reply-To")
    return parents if len(parents) == 1 else ()


def _parent(headers: Headers, anchor: str | None) -> str | None:
    """Return the mail's own name; on Bridge, one of Bridge's making only if it is truly that mail's."""
    named = next((one for one in message_ids(headers.get("Message-ID")) if writable_id(one)), None)
    return None if named and is_internal(named) and anchor not in {None, named} else named


def _kept(headers: Headers, name: str) -> tuple[str, ...]:
    given = message_ids(b" ".join(headers.all(name)))
    return tuple(one for one in given if writable_id(one) and not is_internal(one))


def _references(headers: Headers, parent: str | None, anchor: str | None) -> tuple[str, ...]:
    last = [one for one in dict.fromkeys((parent, anchor)) if one]
    before = [one for one in ancestors(headers) if one not in last]
    return (*_bounded(before), *last)


def _bounded(ids: list[str]) -> list[str]:
    """Keep the first, which names the thread, and as many of the last as there is room for."""
    if not ids:
        return []
    first, *others = ids
    room, kept = MOST_OCTETS - len(first), list[str]()
    for one in reversed(others[-(MOST - 1) :]):
        room -= len(one) + 1
        if room < 0:
            break
        kept.append(one)
    return [first, *reversed(kept)]
