"""Posted: how a mail left, as the caller is told. Acceptance by a server is not arrival."""

from __future__ import annotations

from mcp_proton.domain.operation import Result
from mcp_proton.domain.outcome import Status
from mcp_proton.domain.sendings import Sending, Stage
from mcp_proton.services.fields import Stranger

DELIVERY_UNKNOWN = "delivery_unknown"
_ENDS = {
    Stage.BEGUN: Status.DELIVERY_UNKNOWN,
    Stage.UNKNOWN: Status.DELIVERY_UNKNOWN,
    Stage.NOT_SENT: Status.FAILED,
}
_TOLD = {
    Stage.BEGUN: "it is on its way, or was interrupted",
    Stage.ACCEPTED: "the server accepted it",
    Stage.FOUND: "the server accepted it, and it is in Sent",
    Stage.SWALLOWED: "possibly swallowed: the server accepted it, but it is not in Sent",
    Stage.NOT_SENT: "it was not sent",
    Stage.UNKNOWN: "it may have been sent; nobody knows yet",
}


class RefusedRecipient(Result):
    """A recipient the server did not take, with its reply code (RFC 5321)."""

    recipient: Stranger
    reply: int


class BouncedRecipient(Result):
    """A recipient of whom a delivery report came: `notice` is its handle."""

    recipient: Stranger
    action: str
    code: str
    notice: str


class Delivered(Result):
    """What is known of a mail's way."""

    delivery: str
    told: str
    message_id: str
    recipients: int
    refused: list[RefusedRecipient] = []
    bounced: list[BouncedRecipient] = []
    sent: str | None = None


class Posted(Result):
    """How it left.

    `sent` is the copy in Sent, where it is there already; `filed`: why there is none. `repeat`: no sign was found that the
    server takes it for a repeat. `receipt` is a digest over its octets and envelope, to be checked later. `said`: why it
    was not taken, perhaps in the server's words.
    """

    delivery: str
    message_id: str
    accepted: int = 0
    refused: list[RefusedRecipient] = []
    sent: str | None = None
    filed: str | None = None
    repeat: str | None = None
    receipt: str | None = None
    draft: str | None = None
    said: Stranger = ""
    state: str | None = None
    reason: str | None = None

    @property
    def ended(self) -> Status:
        """How the whole ended."""
        return Status(self.state) if self.state else Status.SUCCEEDED

    @property
    def code_of_end(self) -> str | None:
        """Why it did not end well."""
        return self.reason


def status_of(sending: Sending) -> Status:
    """Return the state of the journal that a sending means."""
    known = _ENDS.get(sending.stage, Status.SUCCEEDED)
    return Status.PARTIALLY_SUCCEEDED if known is Status.SUCCEEDED and sending.refused else known


def refused(sending: Sending) -> list[RefusedRecipient]:
    """Tell the recipients that were not taken."""
    return [RefusedRecipient(recipient=one.recipient, reply=one.code) for one in sending.refused]


def delivered(sending: Sending) -> Delivered:
    """Tell a sending, whenever it is asked for."""
    return Delivered(
        delivery=sending.stage.value,
        told=_TOLD[sending.stage],
        message_id=sending.message_id,
        recipients=len(sending.recipients),
        refused=refused(sending),
        bounced=[
            BouncedRecipient(recipient=one.recipient, action=one.action, code=one.status, notice=str(one.notice))
            for one in sending.bounces
        ],
        sent=None if sending.sent is None else str(sending.sent),
    )


def code_of(sending: Sending) -> str | None:
    """Return the word for why it did not end well."""
    match status_of(sending):
        case Status.DELIVERY_UNKNOWN:
            return DELIVERY_UNKNOWN
        case Status.FAILED:
            return sending.code or "not_sent"
        case Status.PARTIALLY_SUCCEEDED:
            return "recipients_refused"
        case _:
            return None


def posted(sending: Sending, *, filed: str | None = None, draft: str | None = None) -> Posted:
    """Tell how it left."""
    state = status_of(sending)
    left = state in (Status.SUCCEEDED, Status.PARTIALLY_SUCCEEDED)
    return Posted(
        delivery=sending.stage.value,
        message_id=sending.message_id,
        accepted=len(sending.recipients) - len(sending.refused) if left else 0,
        refused=refused(sending),
        sent=None if sending.sent is None else str(sending.sent),
        filed=filed,
        repeat="no_sign_of_a_repeat" if left and sending.key is not None else None,
        receipt=sending.receipt if left else None,
        draft=draft,
        said=sending.why,
        state=None if state is Status.SUCCEEDED else state.value,
        reason=code_of(sending),
    )
