"""The answer a JMAP server gives by itself (RFC 8621 §8): one object an account, on or off."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid, MailError
from mcp_proton.domain.powers import Vacation, lacking
from mcp_proton.jmap.changing import refusals
from mcp_proton.jmap.errors import MethodFailed, acted
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call
from mcp_proton.jmap.protocol.session import VACATION

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

_ID = "singleton"
_GET = Call("VacationResponse/get", {"ids": [_ID]})
_NOT_HERE = "answer mail by itself, as far as it tells"


class Vacations:
    """One account's."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self) -> Vacation:
        """As it is set."""
        await self._check()
        (answer,) = await self._client.demand(_GET)
        return _read(answer)

    async def set(self, vacation: Vacation) -> Vacation:
        """Once, and looked at in the same request. An HTML text that was set elsewhere is taken out: it would be sent too."""
        await self._check()
        update = Call("VacationResponse/set", {"update": {_ID: _written(vacation)}})
        done, now = await self._client.ask(update, _GET, changes=True)
        if isinstance(done, MethodFailed):
            raise _of_method(done)
        with acted():
            refused = values.entry(done, "notUpdated", _ID)
            if refused is not None:
                raise _of_item(refused)
            if _ID not in values.mapping(done.get("updated") or {}):
                raise refusals.not_told()
            return vacation if isinstance(now, MethodFailed) else _read(now)

    async def _check(self) -> None:
        if VACATION not in (await self._client.session()).capabilities:
            raise lacking(_NOT_HERE)


def _written(vacation: Vacation) -> Object:
    return {
        "isEnabled": vacation.enabled,
        "fromDate": _date(vacation.since),
        "toDate": _date(vacation.until),
        "subject": vacation.subject or None,
        "textBody": vacation.text or None,
        "htmlBody": None,
    }


def _read(answer: Object) -> Vacation:
    found = next((one for one in values.listed(answer) if one.get("id") == _ID), None)
    if found is None:
        raise values.wrong("the answer that is set")
    return Vacation(
        enabled=found.get("isEnabled") is True,
        text=values.text(found.get("textBody")),
        subject=values.text(found.get("subject")),
        since=values.instant(found.get("fromDate")),
        until=values.instant(found.get("toDate")),
    )


def _date(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _of_method(error: MethodFailed) -> MailError:
    if error.kind == "unknownMethod":
        return lacking(_NOT_HERE)
    return refusals.of_method(error)


def _of_item(told: Object) -> MailError:
    if values.text(told.get("type")) in {"invalidProperties", "invalidPatch"}:
        return Invalid("the mail server takes no such answer", code="invalid_vacation", next="nothing was changed")
    return refusals.of_item(told)
