"""What a JMAP server does with the one request that sends a mail, on Cyrus and on the scripted server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.outgoing import Delivery
from tests.contract.letters_out import mail, own_id
from tests.contract.worlds import box
from tests.servers.jmap.server import USER

if TYPE_CHECKING:
    from mcp_proton.jmap.backend import JmapBackend
    from tests.contract.worlds import World


async def test_the_server_shows_the_copy_in_sent_in_the_request_that_sends(jmap_world: World) -> None:
    """P-92: a query anchored at what an earlier call of the same request made (RFC 8620 §3.7, §5.5)."""
    backend: JmapBackend = jmap_world.backend  # type: ignore[assignment]
    assert backend.submits is not None
    await backend.mailboxes()
    await backend.identities()
    named, since, before = own_id(), datetime.now(UTC) - timedelta(minutes=5), backend.web.requests
    told = await backend.submits.submit(USER, ["bob@example.net"], mail(USER, "bob@example.net", message_id=named))
    assert (told.delivery, backend.web.requests - before) == (Delivery.ACCEPTED, 2)
    assert told.sent is not None
    assert told.sent.tag == (await box(jmap_world, Role.SENT)).tag
    found = await backend.submits.trace(named, since)
    assert (found.sent, found.drafts) == (told.sent, ())
