"""Bounces: delivery reports that came for mail of ours, matched by its Message-ID and by nothing a stranger could guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Part, Role
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import And, Contains, Field, Or, Received
from mcp_proton.domain.sendings import Bounce, Sending
from mcp_proton.mime.delivery_reports import reported, reported_id
from mcp_proton.services.presenting import content
from mcp_proton.services.writing.addressees import key

_PLACES = frozenset({Role.INBOX, Role.SPAM})
_SENDERS = ("mailer-daemon", "postmaster", "mail delivery")
_LOOKED_AT = 50
_OCTETS = 64 << 10
_TOLD = frozenset({"failed", "delayed"})


async def found(sendings: Sequence[Sending], backend: MailBackend) -> Mapping[str, tuple[Bounce, ...]]:
    """Return what was reported of these mails since they left, by operation, in notices not known yet: one look for all."""
    scope = [box for box in await backend.mailboxes() if box.role in _PLACES]
    if not scope or not sendings:
        return {}
    since = min(one.begun for one in sendings)
    query = And((Received(since=since), Or(tuple(Contains(Field.FROM, one) for one in _SENDERS))))
    rows = (await backend.search(scope, query, Page(limit=_LOOKED_AT))).rows
    by_id = {one.message_id: one for one in sendings}
    known = {bounce.notice for one in sendings for bounce in one.bounces}
    told: dict[str, tuple[Bounce, ...]] = {}
    for row in rows:
        if row.handle not in known:
            sending, bounces = await _read(by_id, backend, row.handle)
            if sending is not None and bounces:
                told[sending.operation] = (*told.get(sending.operation, ()), *bounces)
    return told


async def _read(
    by_id: Mapping[str, Sending], backend: MailBackend, notice: Handle
) -> tuple[Sending | None, tuple[Bounce, ...]]:
    """Read one notice. One that cannot be read, or is about another mail, says nothing."""
    try:
        parts = (await backend.structure(notice)).root.walk()
        sending = by_id.get(await _about(backend, notice, parts) or "")
        status = next((one for one in parts if one.media_type.startswith("message/delivery-status")), None)
        if sending is None or status is None:
            return None, ()
        body = (await content.octets(backend, notice, status.path, _OCTETS))[0]
    except MailError:
        return None, ()
    ours = {key(one): one for one in sending.recipients}
    return sending, tuple(
        Bounce(ours[key(one.recipient)], one.action, one.status, notice)
        for one in reported(body)
        if one.action in _TOLD and key(one.recipient) in ours
    )


async def _about(backend: MailBackend, notice: Handle, parts: Sequence[Part]) -> str | None:
    """Return the Message-ID of the mail a report is about: its third part holds that mail, or its header (RFC 6522 §3)."""
    for part in parts:
        if part.media_type in ("message/rfc822", "message/global"):
            return reported_id((await content.octets(backend, notice, f"{part.path}.HEADER", _OCTETS))[0])
        if part.media_type in ("text/rfc822-headers", "message/rfc822-headers", "message/global-headers"):
            return reported_id((await content.octets(backend, notice, part.path, _OCTETS))[0])
    return None
