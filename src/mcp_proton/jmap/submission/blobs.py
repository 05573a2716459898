"""How the octets of a message get to the server: along with the request that uses them (RFC 9404 §4.1), where the server
takes that and they are few; else by an upload of their own (RFC 8620 §6.1). They are the same octets either way."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Defect
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.jmap.protocol.client import Client

NAME = "b"
"""under which the blob is made, and `#b` by which later calls of the same request name it (RFC 8620 §5.3)"""


class Blobs:
    """One account's."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._takes_along = True
        """until the server showed that it does not, whatever its session says"""

    async def along(self, mail: Octets) -> Call | None:
        """The call that makes a blob of these octets, as the first of a request; None where they must be uploaded."""
        if not self._takes_along or mail.size > (await self._client.session()).carries:
            return None
        octets = b"".join([piece async for piece in mail.chunks()])
        if len(octets) != mail.size:
            raise Defect("a message has another number of octets than it says")
        data = {"data:asBase64": base64.b64encode(octets).decode("ascii")}
        return Call("Blob/upload", {"create": {NAME: {"data": [data], "type": "message/rfc822"}}})

    def upload_only(self) -> None:
        """Take note that this server knows no blob by its name within a request."""
        self._takes_along = False
