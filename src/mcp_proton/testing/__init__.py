"""Test doubles that are part of the product: an account in memory, a fixed clock, a vault, and a world without a disk.

`MemoryAccount` keeps the same contract as the real backends; one suite runs over all of them.
"""

from mcp_proton.testing.account import MemoryAccount
from mcp_proton.testing.artifacts import MemoryArtifacts
from mcp_proton.testing.clock import EPOCH, FixedClock
from mcp_proton.testing.internet import MemoryRemote
from mcp_proton.testing.journal import MemoryJournal
from mcp_proton.testing.outgoing import MemoryOctets, MemoryOutgoing, OutgoingFault, SentMail
from mcp_proton.testing.owner import FixedPolicy, MemoryAccounts, MemoryVault

__all__ = [
    "EPOCH",
    "FixedClock",
    "FixedPolicy",
    "MemoryAccount",
    "MemoryAccounts",
    "MemoryArtifacts",
    "MemoryJournal",
    "MemoryOctets",
    "MemoryOutgoing",
    "MemoryRemote",
    "MemoryVault",
    "OutgoingFault",
    "SentMail",
]
