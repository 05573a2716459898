"""What left an account: one record for each recipient of each sending, kept for tests to look at."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mcp_proton.simulator.proton.literal import build

if TYPE_CHECKING:
    from mcp_proton.simulator.proton.account_message import AccountMessage
    from mcp_proton.simulator.texts.parts import Attachment


@dataclass(frozen=True)
class Departure:
    """A mail as one recipient gets it.

    `message_id` is the internal id of the sender's copy, `external_id` the Message-ID without brackets, `kind` whether the
    recipient is of this simulator or outside, `time` the moment in epoch seconds. A draft that is sent twice departs twice.
    """

    account: str
    message_id: str
    recipient: str
    kind: Literal["internal", "clear"]
    content: AccountMessage
    time: float

    @property
    def external_id(self) -> str:
        """The Message-ID without brackets."""
        return self.content.external_id

    @property
    def subject(self) -> str:
        """The subject, decoded."""
        return self.content.subject

    @property
    def sender(self) -> str:
        """The From address."""
        return self.content.sender.address if self.content.sender is not None else ""

    @property
    def media_type(self) -> str:
        """`text/plain` or `text/html`."""
        return self.content.content.media_type

    @property
    def body(self) -> bytes:
        """The text, in UTF-8 with CRLF."""
        return self.content.content.body

    @property
    def attachments(self) -> list[Attachment]:
        """Its files."""
        return self.content.content.attachments

    @property
    def header(self) -> dict[str, str]:
        """The header fields that leave, by name; nothing else of the original does."""
        return dict(self.content.header)

    @property
    def text(self) -> bytes:
        """The mail as RFC 822 text in the form Bridge writes."""
        moment = dt.datetime.fromtimestamp(int(self.time), dt.UTC)
        return build(self.content, self.message_id, self.message_id, moment, from_lines=True)
