"""Who really gets a mail: header and envelope against each other (facts 11.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.simulator.texts.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.simulator.proton.account_message import AccountMessage


@dataclass(frozen=True)
class Recipients:
    """The lists a mail is sent to."""

    to: list[Address]
    cc: list[Address]
    bcc: list[Address]

    @property
    def addresses(self) -> list[str]:
        """Every address once, byte by byte."""
        return list(dict.fromkeys(one.address for one in [*self.to, *self.cc, *self.bcc]))


def settled(message: AccountMessage, envelope: Sequence[str]) -> Recipients:
    """To as far as the envelope names it, all of Cc and Bcc, and the rest of the envelope as Bcc."""
    to = [one for one in message.to if one.address in envelope]
    named = {one.address for one in [*to, *message.cc, *message.bcc]}
    hidden = [Address("", address) for address in dict.fromkeys(envelope) if address not in named]
    return Recipients(to, list(message.cc), [*message.bcc, *hidden])
