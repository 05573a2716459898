"""Profiles: which tools a client is shown, each within a ceiling of tokens. Rights are policy's matter, not a profile's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.config.values import Profile
from mcp_proton.domain.caller import Audience
from mcp_proton.domain.effects import READING, Effect
from mcp_proton.mcp.tools import Offer

if TYPE_CHECKING:
    from mcp_proton.services.door.registry import Catalog


READER = (
    "mailboxes_list",
    "mailboxes_overview",
    "messages_list",
    "messages_search",
    "messages_get",
    "messages_get_many",
    "threads_get",
    "attachments_text",
    "addresses_find",
    "operations_status",
    "operations_resume",
    "accounts_health",
)
"""The reading half of core. Its tools can do nothing but read."""

CORE = (
    *READER,
    "attachments_save",
    "messages_flag",
    "messages_move",
    "messages_archive",
    "messages_trash",
    "labels_apply",
    "labels_remove",
    "drafts_create",
    "drafts_update",
    "mail_send",
    "mail_reply",
    "mail_forward",
    "operations_undo",
)
"""What most of a day's mail needs: at most 25 tools."""

TOKENS = {Profile.READER: 1500, Profile.CORE: 3000, Profile.FULL: 9000, Profile.COMPACT: 3500}
"""The ceilings: o200k tokens over name, description and input schema of all tools together."""


def offers(profile: Profile, catalog: Catalog) -> dict[str, Offer]:
    """Return what a profile has, by operation name; an operation that is not there does not exist for its clients."""
    everything = {one.name: one for one in catalog.for_audience(Audience.AGENT)}
    match profile:
        case Profile.READER:
            return {name: Offer(everything[name], READING) for name in READER}
        case Profile.CORE:
            return {name: Offer(everything[name]) for name in CORE}
        case _:
            return {name: Offer(definition, frozenset(Effect)) for name, definition in everything.items()}
