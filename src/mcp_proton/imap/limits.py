"""How much a server may make us hold, and how long it may stay silent. One value each, given at the start."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings against a hostile or broken server; passing one closes the connection with LimitExceeded.

    `nesting` is different: lists nested deeper are left out of the result, so that one odd mail cannot hide a page.
    """

    line: int = 8 * MIB
    literal: int = 64 * MIB
    """a literal kept in memory; one that is streamed may be as long as it likes"""
    response: int = 80 * MIB
    literals: int = 50_000
    """literals in one response"""
    nodes: int = 1_000_000
    """words and lists in one response"""
    nesting: int = 150
    held: int = 192 * MIB
    """what one command may gather before its end (streams excepted: they hold the server back)"""
    unasked: int = 250_000
    """responses nobody asked for, between two tagged ones"""
    garbage: int = 1_000
    """lines that are no response at all, in the life of a connection"""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. A Bridge write that waits for Proton holds every session of the account for 47 s, so `silence` is
    longer than a minute: shorter, and a busy Bridge would look dead."""

    connect: float = 20.0
    greeting: float = 60.0
    silence: float = 90.0
    """between two pieces of an answer, while a command is running"""
    command: float = 900.0
    """for one command as a whole, time in which the reader held the server back excepted"""
    settle: float = 5.0
    """for the rest of a cancelled command's answer; then the connection is closed"""
    goodbye: float = 1.0
    idle_again: float = 28 * 60.0
    """IDLE is issued anew: servers may log out after 29 minutes (RFC 2177)"""
    poll: float = 30.0
    """NOOP in place of IDLE, where a server has none; STATUS of watched mailboxes that it tells nothing of"""
    checked: float = 300.0
    """STATUS of watched mailboxes that it does tell of: a connection may die unnoticed"""


@dataclass(frozen=True, slots=True)
class SubmissionTiming:
    """Seconds, for handing over one mail. As RFC 5321 §4.5.3.2 asks for; on Bridge, a mail that waits for an equal one
    or for Proton holds LOGIN and DATA of the account for minutes."""

    connect: float = 20.0
    reply: float = 300.0
    """for each answer before the text"""
    block: float = 180.0
    """for a chunk of the text to be taken"""
    end: float = 600.0
    """for the answer to the final dot"""
    goodbye: float = 1.0
