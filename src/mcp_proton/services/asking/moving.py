"""Moving, as it is asked for: by whoever moves messages, and by whoever takes back what put them elsewhere."""

from __future__ import annotations

from mcp_proton.domain.operation import Request
from mcp_proton.services.fields import Destination, ManyHandles, Preview


class MessagesMove(Request):
    """Move messages. Old handles go stale; new ones are returned."""

    messages: ManyHandles
    to: Destination
    preview: Preview = False
