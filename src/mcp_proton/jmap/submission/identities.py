"""Whom a login may send as, and one more of them (RFC 8621 §6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict, Invalid, MailError, Unsupported
from mcp_proton.domain.mail import Identity
from mcp_proton.domain.powers import lacking
from mcp_proton.jmap.changing import refusals
from mcp_proton.jmap.errors import MethodFailed, acted
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call, sure
from mcp_proton.jmap.protocol.session import SUBMISSION

if TYPE_CHECKING:
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

MOST = 1_000


class Identities:
    """One login's. They are asked for once, and again after one was made."""

    def __init__(self, client: Client, mailboxes: Mailboxes) -> None:
        self._client, self._mailboxes = client, mailboxes
        self._known: list[tuple[str, Identity]] | None = None
        self.made_here = True
        """False once the server said that it makes none"""

    async def all(self, *, fresh: bool = False) -> list[tuple[str, Identity]]:
        """What Identity/get tells, with the ids. Raises `Unsupported` where this login cannot send."""
        if self._known is None or fresh:
            if SUBMISSION not in (await self._client.session()).capabilities:
                raise Unsupported("this account cannot send by JMAP", code="sending_off")
            (answer,) = await self._mailboxes.along(Call("Identity/get", {"ids": None}))
            self._known = [
                (
                    values.identifier(one.get("id")),
                    Identity(values.text(one.get("email")), values.text(one.get("name"))),
                )
                for one in values.listed(sure(answer))[:MOST]
            ]
        return self._known

    async def create(self, identity: Identity) -> Identity:
        """Once. Raises `Conflict`, `Invalid` or `Unsupported` where it was not made, `Ambiguous` where nobody knows."""
        if any(one.email.lower() == identity.email.lower() for _, one in await self.all(fresh=True)):
            raise Conflict("there is an identity of that address already", code="name_taken", next="nothing was done")
        wanted = {"email": identity.email, "name": identity.name}
        self._known = None
        (answer,) = await self._client.ask(Call("Identity/set", {"create": {"i": wanted}}), changes=True)
        if isinstance(answer, MethodFailed):
            self.made_here = answer.kind != "unknownMethod"
            raise refusals.of_method(answer) if self.made_here else lacking("make identities")
        with acted():
            if values.entry(answer, "created", "i") is not None:
                return identity
            refused = values.entry(answer, "notCreated", "i")
            raise refusals.not_told() if refused is None else _of_item(refused)


def _of_item(told: Object) -> MailError:
    match values.text(told.get("type")):
        case "forbiddenFrom" | "forbidden" | "invalidProperties":
            return Invalid(
                "the mail server does not let this login send as that address",
                code="sender_refused",
                next="nothing was done; the owner can add the address at the mail provider",
            )
        case "singleton" | "overQuota" | "rateLimit":
            return lacking("take one more identity")
    return refusals.of_item(told)
