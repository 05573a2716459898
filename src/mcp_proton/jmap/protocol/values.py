"""Out of a server's JSON: each value is of the kind and size it must be, or the answer is refused (`bad_server_answer`)."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcp_proton.jmap.errors import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Mapping

_ID = re.compile(r"[A-Za-z0-9_-]{1,255}")
LARGEST = (1 << 53) - 1

Object = dict[str, Any]


def parsed(octets: bytes) -> Object:
    """A JSON object. Too deep, too long a number, NaN or not JSON at all: refused."""
    try:
        found = json.loads(octets, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise wrong("JSON") from None
    return mapping(found)


def mapping(value: object) -> Object:
    """An object."""
    if not isinstance(value, dict):
        raise wrong("an object")
    return value


def sequence(value: object) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise wrong("a list")
    return value


def listed(answer: Object) -> list[Object]:
    """The objects an answer to a `/get` lists (RFC 8620 §5.1)."""
    return [mapping(one) for one in sequence(answer.get("list"))]


def entry(answer: Object, group: str, name: str) -> Object | None:
    """What an answer to a `/set` says of one: `created`, or `notCreated` and its kind (RFC 8620 §5.3). None: nothing."""
    found = mapping(answer.get(group) or {}).get(name)
    return None if found is None else mapping(found)


def text(value: object) -> str:
    """A string without halves of characters; null is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong("a text")
    return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")


def identifier(value: object) -> str:
    """An Id (RFC 8620 §1.2)."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise wrong("an id")
    return value


def is_identifier(value: str) -> bool:
    """Whether a text can be an Id."""
    return _ID.fullmatch(value) is not None


def state(value: object) -> str:
    """A state (RFC 8620 §5.1): opaque, not empty, of bearable length."""
    found = text(value)
    if not found or len(found) > 1_024:
        raise wrong("a state")
    return found


def number(value: object, default: int = 0) -> int:
    """An UnsignedInt (RFC 8620 §1.3); null is the default."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise wrong("a number")
    return value


def instant(value: object) -> datetime | None:
    """A Date (RFC 8620 §1.4) as an aware instant; None for null and for what is no date."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        found = datetime.fromisoformat(value)
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except ValueError:
        return None


def keys_of(value: object) -> frozenset[str]:
    """The keys of a set written as an object with true for each (RFC 8621 §4.1.1)."""
    found: Mapping[str, Any] = mapping({} if value is None else value)
    return frozenset(text(key) for key, is_in in found.items() if is_in is True)


def wrong(kind: str) -> ProtocolViolation:
    """The error for an answer that is not what it must be."""
    return ProtocolViolation(f"the mail server's answer does not hold {kind} where one must be")


def _refused(word: str) -> None:
    raise ValueError(word)
