"""Watch: what changes in an account, told from outside of any call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp_proton.domain.mail import Mailbox


class Watch(Protocol):
    """An async iterator of the mailboxes in which something changed: mail that came or went, flags, the mailbox itself.

    It holds one connection, and begins when `want` is first called. A change is a hint to look: it may be told once for
    many, and sometimes where there was none, but none is missed, whatever becomes of the connection meanwhile. It ends with
    an error only where going on is no use for now (the login is refused); a new one begins without knowing what was before.

    What a server tells by itself is told at once. Elsewhere it is asked, every half minute or so; there a change of a flag
    other than `seen` may show only together with another one (a server without CONDSTORE, such as Bridge, does not count them).
    """

    async def want(self, tags: frozenset[str] | None) -> None:
        """Watch these mailboxes from now on; None: all of them. Returns once it is known how they are, so that every
        change from here on is told. Somebody has to iterate meanwhile. Raises what ended the watch before.
        """
        ...

    def __aiter__(self) -> Watch: ...

    async def __anext__(self) -> frozenset[Mailbox]:
        """The mailboxes that changed, of those wanted; a mailbox that is gone is told as it was."""
        ...

    async def aclose(self) -> None:
        """Stop, and close the connection."""
        ...
