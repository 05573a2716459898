"""How an attachment is shown, and how one is chosen."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Attachment
from mcp_proton.domain.operation import Result
from mcp_proton.domain.ports import MailBackend
from mcp_proton.mime.file_names import file_name
from mcp_proton.mime.structure import selecting
from mcp_proton.services.fields import Mark, Stranger

Index = Annotated[int, Field(ge=1, le=1000, description="number from attachments_list"), Mark.TOKEN]


class ListedAttachment(Result):
    """One attachment: `index` counts from 1, `size` is in octets as sent (encoded)."""

    index: int
    filename: Stranger
    type: Stranger
    size: int
    inline: bool = False


def listed(attachment: Attachment) -> ListedAttachment:
    """Show an attachment under a name that is safe on any file system."""
    return ListedAttachment(
        index=attachment.index,
        filename=file_name(attachment.filename),
        type=attachment.media_type,
        size=attachment.size,
        inline=attachment.inline,
    )


async def choose(backend: MailBackend, handle: Handle, index: int) -> Attachment:
    """Return the attachment of that number. `NotFound` says how many there are."""
    found = selecting.attachments((await backend.structure(handle)).root)
    for attachment in found:
        if attachment.index == index:
            return attachment
    raise NotFound(
        f"this message has {len(found)} attachments" if found else "this message has no attachments",
        next="`attachments_list` numbers them",
        code="no_such_attachment",
    )
