"""What an account holds before anybody connects: messages, labels, addresses, in the words of a recording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class GivenMessage:
    """One message to put into an account.

    `raw` are its bytes (LF or CRLF line ends), or a function that makes them when they are asked for. `places` are names
    as `inbox`, `archive`, `starred`, `Folders/Work`, `Labels/Blue`; none at all makes an orphan. `flags` are Proton's:
    `received`, `sent`, `draft`, `scheduled`, `replied`, `forwarded`. `time` is the server's time in epoch seconds (default:
    the Date header's). `origin` says how it got there: delivered by SMTP, imported by another client, or appended by
    this Bridge; what has the flag `draft` was written as a draft.
    """

    raw: bytes | Callable[[], bytes]
    places: tuple[str, ...] = ("inbox",)
    flags: tuple[str, ...] = ("received",)
    unread: bool = True
    key: str = ""
    time: float | None = None
    address: str = ""
    origin: Literal["delivered", "imported", "appended"] = "delivered"


@dataclass(frozen=True)
class GivenLabel:
    """A folder or label: an IMAP path, or a bare `name` with its kind and its parent's path."""

    name: str
    folder: bool = False
    parent: str = ""

    @classmethod
    def from_path(cls, path: str) -> GivenLabel:
        """The label an IMAP path as `Folders/Work/2023` names."""
        head, _, name = path.rpartition("/")
        return cls(name, folder=path.startswith("Folders/"), parent=head if head not in {"Folders", "Labels"} else "")


@dataclass
class GivenUser:
    """A Proton account: its name, its addresses (the first is the primary one), what it holds."""

    name: str
    addresses: list[str]
    labels: list[GivenLabel] = field(default_factory=list)
    messages: list[GivenMessage] = field(default_factory=list)
    signed_in: bool = True
