"""Invitations: the calendar part of a message that asks for an answer."""

from __future__ import annotations

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.ports import MailBackend
from mcp_proton.mime.decoding.encoding import decode
from mcp_proton.services.presenting import content

_CALENDAR = frozenset({"text/calendar", "application/ics"})
_OCTETS = 1 << 20


async def octets(backend: MailBackend, handle: Handle) -> bytes:
    """Return the decoded calendar part. `NotFound` where the message has none."""
    parts = (await backend.structure(handle)).root.walk()
    found = next((one for one in parts if one.media_type.lower() in _CALENDAR), None)
    if found is None:
        raise NotFound("this message holds no invitation", code="no_invitation")
    encoded, complete = await content.octets(backend, handle, found.path, _OCTETS)
    return decode(encoded, found.encoding, complete=complete).octets
