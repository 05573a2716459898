"""Where mail and passwords come into worlds that are part of the product, whichever test opens them.

The servers of the tests plant what they are given by themselves (`tests.servers`).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_proton.bootstrap.demo import DEMO_MESSAGES, DEMO_OWNER
from mcp_proton.simulator import lively_user
from mcp_proton.simulator.proton.account import Account
from mcp_proton.simulator.view.users import BridgeUser
from mcp_proton.testing.account import MemoryAccount
from tests.canaries import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.domain.handles import Handle
    from mcp_proton.simulator import GivenMessage
    from mcp_proton.simulator.proton.message import Message


def plant_all() -> None:
    """Make canaries of the demonstration's mail, and of all that these worlds are given from now on."""
    for given in lively_user(DEMO_MESSAGES, seed=1, owner=DEMO_OWNER).messages:
        words.plant_mail(given.raw if isinstance(given.raw, bytes) else given.raw())
    put, add, make = MemoryAccount.add, Account.add, BridgeUser.__init__

    @functools.wraps(put)
    def putting(own: MemoryAccount, path: str, raw: bytes, **how: Any) -> Handle:
        words.plant_mail(raw)
        return put(own, path, raw, **how)

    @functools.wraps(add)
    def adding(own: Account, given: GivenMessage, **how: Any) -> Message:
        return add(own, replace(given, raw=_planting(given.raw)), **how)

    @functools.wraps(make)
    def making(own: BridgeUser, *args: Any, **how: Any) -> None:
        make(own, *args, **how)
        words.plant("a password", own.password)

    MemoryAccount.add = putting  # type: ignore[assignment, method-assign]
    Account.add = adding  # type: ignore[assignment, method-assign]
    BridgeUser.__init__ = making  # type: ignore[assignment, method-assign]


def _planting(raw: bytes | Callable[[], bytes]) -> bytes | Callable[[], bytes]:
    """Plant a message; one that is written when it is asked for, then."""
    if isinstance(raw, bytes):
        words.plant_mail(raw)
        return raw

    def written() -> bytes:
        made = raw()
        words.plant_mail(made)
        return made

    return written
