"""Handing a mail to Bridge, once (procedure 1 of what was measured): checked, logged in as its sender, its answer judged.

INVARIANT: a sender that Bridge would refuse never reaches it with a mail. Only an enabled address of the account can log
in, so the login is made as the sender's address, and a refused one ends it before MAIL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.handing_over import admission, resend
from mcp_proton.bridge.handing_over.verdicts import verdict
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.outgoing import Delivery, Submission
from mcp_proton.imap.submission import conversation as smtp
from mcp_proton.imap.submission import mail_paths
from mcp_proton.imap.submission.submit import Submitting, not_sent

if TYPE_CHECKING:
    from aiosmtplib import SMTPResponse

    from mcp_proton.bridge.handing_over.departed import Departed
    from mcp_proton.domain.outgoing import Accepted, Octets
    from mcp_proton.imap.submission.conversation import Conversation
    from mcp_proton.imap.submission.outlet import Outlet
    from mcp_proton.imap.submission.submit import Parcel

REFUSED = "Bridge would refuse this sender, and hang on the next equal mail; it was not asked"


class BridgeSubmitting(Submitting):
    """`departed` remembers what went, for half an hour."""

    all_or_none = True

    def __init__(self, outlet: Outlet, departed: Departed) -> None:
        super().__init__(outlet)
        self._departed = departed

    async def _checked(self, sender: str, recipients: tuple[str, ...], mail: Octets) -> Parcel:
        parcel = await super()._checked(sender, recipients, mail)
        if self._departed.is_refused(sender):
            raise Invalid(REFUSED, code="sender_refused")
        content = await resend.read(mail)
        admission.check(sender, recipients, content)
        return replace(parcel, key=content.key)

    async def _log_in_for(self, talk: Conversation, sender: str) -> Submission | None:
        password = await self._outlet.credentials.password()
        address = mail_paths.without_tag(sender)
        reply = await talk.log_in(address, password)
        if reply.code == smtp.LOGGED_IN:
            return None
        # The sender's address, or the password? The account's own login tells.
        other = await self._begin()
        try:
            await self._log_in(other, self._outlet.credentials.username)
        finally:
            other.abort()
        return not_sent("sender_refused", REFUSED)

    def _is_wrong_login(self, reply: SMTPResponse) -> bool:
        """454 says it, like everything else that can be wrong with a login."""
        return True

    def _goes(self, parcel: Parcel) -> None:
        self._departed.note(parcel.key)

    def _judged(self, parcel: Parcel, reply: SMTPResponse, told: tuple[Accepted, ...]) -> Submission:
        found = verdict(reply)
        if found.is_identity:
            self._departed.refuse(parcel.sender)
        elif found.delivery is Delivery.NOT_SENT:
            self._departed.forget(parcel.key)
        if found.delivery is Delivery.ACCEPTED:
            return Submission(Delivery.ACCEPTED, told)
        return Submission(found.delivery, told, found.code, found.why, found.stray)
