"""A fate for each handle that was asked: mailbox by mailbox, page by page.

INVARIANT: a fate that is known is kept. What stops a batch in the middle becomes the fate of those only that have none yet,
so what was done is never told as undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.domain.errors import MailError, Unsupported, not_attempted
from mcp_proton.domain.outcome import Fate
from mcp_proton.imap.groups import Group, grouped

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox

Fates: TypeAlias = "dict[Handle, Fate]"


async def by_group(
    handles: Sequence[Handle],
    resolve: Callable[[Handle], Awaitable[Mailbox]],
    act: Callable[[Group, Fates], Awaitable[None]],
) -> list[Fate]:
    """Act on the messages of each mailbox; their fates in the order asked.

    `act` writes down each fate as soon as it is known. It raises only for what was not done, or with an error that says
    that nobody knows.
    """
    groups, wrong = await grouped(handles, resolve)
    fates = {handle: Fate.of_error(handle, error) for handle, error in wrong.items()}
    for group in groups:
        try:
            await act(group, fates)
        except MailError as error:
            fates |= failed(without_fate(group, fates), error)
    return [fates[handle] for handle in handles]


async def by_page(group: Group, size: int, fates: Fates, act: Callable[[Group, Fates], Awaitable[bool]]) -> None:
    """Act on portions of a group. After one that says that it is unwise to go on, nothing more is sent."""
    over = False
    for page in group.pages(size):
        if not over:
            over = await act(page, fates)
        if over:
            fates |= failed(without_fate(page, fates), not_attempted())


def without_fate(group: Group, fates: Fates) -> Group:
    """Those of which nothing is known yet."""
    return group.without(uid for uid in group.uids if group.handle(uid) in fates)


def failed(group: Group, error: MailError) -> Fates:
    """The same fate for all of them."""
    return {handle: Fate.of_error(handle, error) for handle in group.handles()}


def refused(group: Group, why: str) -> Fates:
    """Not done, since what it would do is not known or not good."""
    return failed(group, Unsupported(why, code="unsupported_semantics"))


def already_there(group: Group) -> Fates:
    """Nothing to do."""
    return {handle: Fate.skipped(handle, "already_there", "it is there already") for handle in group.handles()}


def by_handle(group: Group, fates: dict[int, Fate]) -> Fates:
    """Fates by UID as fates by handle."""
    return {group.handle(uid): fate for uid, fate in fates.items()}
