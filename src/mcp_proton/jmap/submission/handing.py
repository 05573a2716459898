"""The one request that sends a mail: import into Drafts, submission, the move to Sent, and a look whether it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.jmap import keys
from mcp_proton.jmap.changing import appending
from mcp_proton.jmap.errors import MethodFailed
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call, Ref

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.protocol.values import Object

Answers: TypeAlias = "Sequence[Object | MethodFailed]"
_MISTAKEN = frozenset({"invalidProperties", "notFound", "blobNotFound", "invalidArguments", "invalidResultReference"})
"""why servers import nothing where they do not know the mailbox, or the blob"""


@dataclass(frozen=True, slots=True)
class Handing:
    """One mail being handed over. `blob` is the id of its octets, or their name in `carried`, the call they come with."""

    blob: str
    drafts: Mailbox
    sent: Mailbox
    submission: Object
    """identity and envelope"""
    carried: Call | None = None

    def calls(self, most: int) -> tuple[Call, ...]:
        """All in one request of at most `most` calls: what was not imported is not submitted, and is not found."""
        imported = appending.imported(self.blob, self.drafts, frozenset({"draft", "seen"}))
        filed = {
            f"mailboxIds/{self.drafts.id}": None,
            f"mailboxIds/{self.sent.id}": True,
            "keywords/$draft": None,
        }
        needed = (
            *((self.carried,) if self.carried is not None else ()),
            Call("Email/import", {"emails": {"m": imported}}),
            Call(
                "EmailSubmission/set",
                {"create": {"s": {"emailId": "#m", **self.submission}}, "onSuccessUpdateEmail": {"#s": filed}},
            ),
        )
        return (*needed, self._look) if len(needed) < most else needed

    @property
    def _look(self) -> Call:
        """Sent, at the place of this very message (RFC 8620 §5.5): an error where it is not there."""
        imported = Ref(int(self.carried is not None), "Email/import", "/created/m/id")
        return Call(
            "Email/query",
            {
                "filter": {"inMailbox": self.sent.id},
                "sort": [{"property": "receivedAt", "isAscending": False}],
                "#anchor": imported.told,
                "anchorOffset": 0,
                "limit": 1,
            },
        )

    def answers(
        self, told: Answers
    ) -> tuple[Object | MethodFailed, Object | MethodFailed, Object | MethodFailed | None]:
        """What was said of import, submission and look."""
        made, submitted, *looked = told[1:] if self.carried is not None else told
        return made, submitted, looked[0] if looked else None

    def seen(self, email_id: str, looked: Object | MethodFailed | None) -> Handle | None:
        """The copy in Sent, where the look saw it."""
        if looked is None or isinstance(looked, MethodFailed) or looked.get("ids") != [email_id]:
            return None
        return keys.handle(self.sent, email_id)

    def is_mistaken(self, told: Answers) -> bool:
        """Whether surely nothing was imported, for a mailbox or a blob that the server does not know."""
        made, submitted, _ = self.answers(told)
        if isinstance(made, MethodFailed):
            kind = made.kind
        elif values.entry(made, "created", "m") is not None:
            return False
        else:
            kind = values.text((values.entry(made, "notCreated", "m") or {}).get("type"))
        return kind in _MISTAKEN and (isinstance(submitted, MethodFailed) or not submitted.get("created"))
