"""PolicySource: the port through which the services learn what the owner said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mcp_proton.policy.model import Policy


class PolicySource(Protocol):
    """The policy in force. A change by the owner holds from the next call on, in every process (P-38)."""

    async def current(self) -> Policy:
        """Return one consistent snapshot. Costs a look at two files while nothing changed. Never raises."""
        ...

    @property
    def problem(self) -> str | None:
        """What is wrong with the owner's latest edit, with line and key; the last good policy stays in force."""
        ...
