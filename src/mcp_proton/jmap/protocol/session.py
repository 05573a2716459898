"""The session of a JMAP account (RFC 8620 §2): where its doors are, and the limits its server sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcp_proton.domain.errors import AuthFailed
from mcp_proton.jmap.errors import ProtocolViolation
from mcp_proton.jmap.protocol import values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.jmap.protocol.endpoint import Endpoint
    from mcp_proton.jmap.protocol.values import Object

CORE = "urn:ietf:params:jmap:core"
MAIL = "urn:ietf:params:jmap:mail"
SUBMISSION = "urn:ietf:params:jmap:submission"
VACATION = "urn:ietf:params:jmap:vacationresponse"
QUOTA = "urn:ietf:params:jmap:quota"
BLOB = "urn:ietf:params:jmap:blob"
USED_BY = {
    "Blob": BLOB,
    "EmailSubmission": SUBMISSION,
    "Identity": SUBMISSION,
    "Quota": QUOTA,
    "VacationResponse": VACATION,
}
"""what a request must say that it uses, by the type a method is of (RFC 8620 §3.3)"""
MOST_IN_GET = 500
MOST_CONCURRENT = 8
MOST_CARRIED = 1 << 20
_AROUND = 128 * 1024
"""octets of a request that the rest of it may take, with as many recipients as a mail may have"""
_CALLS_AROUND = 3
"""calls of a request that makes a blob, imports it and sends it"""
_ID_ROOM = 260
"""octets an id and what is around it may take in a request"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may hold, and how many may be under way: the server's figures, and no more than ours."""

    objects_in_get: int
    objects_in_set: int
    calls: int
    request_size: int
    requests: int
    upload: int | None

    @classmethod
    def of(cls, core: Object) -> Limits:
        """Read `urn:ietf:params:jmap:core`. What is missing or zero is as small as RFC 8620 §2 suggests."""
        size = values.number(core.get("maxSizeRequest"), 1 << 20) or 1 << 20
        by_size = max(1, (size - 4_096) // _ID_ROOM)
        return cls(
            objects_in_get=min(values.number(core.get("maxObjectsInGet")) or MOST_IN_GET, MOST_IN_GET, by_size),
            objects_in_set=min(values.number(core.get("maxObjectsInSet")) or MOST_IN_GET, MOST_IN_GET, by_size),
            calls=max(1, values.number(core.get("maxCallsInRequest"), 16)),
            request_size=size,
            requests=min(max(1, values.number(core.get("maxConcurrentRequests"), 4)), MOST_CONCURRENT),
            upload=values.number(core.get("maxSizeUpload")) or None,
        )


@dataclass(frozen=True, slots=True)
class Session:
    """One account of one login."""

    account: str
    username: str
    api: str
    download: str
    upload: str
    events: str
    state: str
    capabilities: frozenset[str]
    limits: Limits
    read_only: bool
    carries: int
    """octets of a blob that a request may carry along (RFC 9404 §4.1); 0: it takes uploads only"""

    @classmethod
    def of(cls, told: Object, base: str, endpoint: Endpoint) -> Session:
        """Read a session resource found at `base`. Raises `ProtocolViolation`, or `AuthFailed` without a mail account."""
        capabilities = values.mapping(told.get("capabilities"))
        if CORE not in capabilities or MAIL not in capabilities:
            raise ProtocolViolation("there is a JMAP server, but not one of mail")
        account = values.mapping(told.get("primaryAccounts")).get(MAIL)
        if account is None:
            raise AuthFailed("this login has no mail account", code="no_mail_account")
        account = values.identifier(account)
        own = values.mapping(values.mapping(told.get("accounts")).get(account, {}))
        powers = values.mapping(own.get("accountCapabilities", capabilities))
        limits = Limits.of(values.mapping(capabilities[CORE]))
        return cls(
            account=account,
            username=values.text(told.get("username")),
            api=endpoint.resolved(base, told.get("apiUrl")),
            download=values.text(told.get("downloadUrl")),
            upload=values.text(told.get("uploadUrl")),
            events=values.text(told.get("eventSourceUrl")),
            state=values.text(told.get("state")),
            capabilities=frozenset(capabilities) & frozenset(powers) | {CORE},
            limits=limits,
            read_only=own.get("isReadOnly") is True,
            carries=_carried(powers[BLOB], limits) if BLOB in capabilities and BLOB in powers else 0,
        )

    def blob(self, blob_id: str, base: str, endpoint: Endpoint) -> str:
        """The URL of a blob (RFC 8620 §6.2). Only ids and words of our own get into it."""
        named = {"accountId": self.account, "blobId": blob_id, "name": "message", "type": "application/octet-stream"}
        return endpoint.resolved(base, _filled(self.download, named))

    def uploading(self, base: str, endpoint: Endpoint) -> str:
        """The URL blobs are sent to (RFC 8620 §6.1)."""
        return endpoint.resolved(base, _filled(self.upload, {"accountId": self.account}))

    def listening(self, types: Iterable[str], ping: int, base: str, endpoint: Endpoint) -> str | None:
        """The URL at which the server tells what changes (RFC 8620 §7.3); None where there is none."""
        if not self.events:
            return None
        named = {"types": ",".join(types), "closeafter": "no", "ping": str(ping)}
        return endpoint.resolved(base, _filled(self.events, named))


def _carried(told: object, limits: Limits) -> int:
    """By the server's own limits of a blob and of a request, and no more than ours. Octets travel as base64."""
    if limits.calls < _CALLS_AROUND:
        return 0
    named = values.number(told.get("maxSizeBlobSet") if isinstance(told, dict) else 0, MOST_CARRIED)
    return max(0, min(named, MOST_CARRIED, (limits.request_size - _AROUND) * 3 // 4))


def _filled(template: str, named: dict[str, str]) -> str:
    """A URI template of level 1 (RFC 6570 §1.2)."""
    for name, value in named.items():
        template = template.replace("{" + name + "}", quote(value, safe=""))
    return template
