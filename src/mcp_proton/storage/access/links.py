"""SqlLinks: links that wait to be used, by the digest of their secret, in the store. The Links port."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from mcp_proton.domain.errors import OverLimit, Unsupported
from mcp_proton.domain.links import MOST_OPEN, Link, Way
from mcp_proton.domain.tokens import digest
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.tables import links

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database

PATH = "/files/"


class SqlLinks:
    """The links of one store. `origin` is where the service is reached over HTTP; None: nowhere, so that there are none.

    `most` octets may be uploaded by one.
    """

    def __init__(self, database: Database, clock: Clock, most: int) -> None:
        self._database, self._clock, self.most = database, clock, most
        self.origin: str | None = None

    def check(self) -> None:
        """See that links are served; see the port."""
        self._reached()

    async def make(self, link: Link) -> str:
        """Keep a link; see the port. Those that are over are forgotten."""
        origin, secret = self._reached(), secrets.token_urlsafe(32)
        waits = select(func.count()).where(links.c.client == link.client, links.c.used.is_(None))
        row = {
            "digest": _key(secret),
            "client": link.client,
            "way": link.way.value,
            "artifact": link.artifact,
            "filename": link.filename,
            "media_type": link.media_type,
            "most": link.most,
            "account": link.account,
            "expires": ticks(link.expires),
        }
        async with self._database.writing() as connection:
            await connection.execute(delete(links).where(links.c.expires <= ticks(self._clock.now())))
            if (await connection.execute(waits)).scalar_one() >= MOST_OPEN:
                raise OverLimit(
                    f"{MOST_OPEN} links wait to be used already",
                    code="too_many_links",
                    next="use them, or wait ten minutes",
                )
            await connection.execute(insert(links), row)
        return f"{origin}{PATH}{secret}"

    async def find(self, secret: str) -> Link | None:
        """Return a link that waits; see the port."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(links).where(self._waits(secret)))).one_or_none()
        if row is None:
            return None
        return Link(
            row.client,
            Way(row.way),
            row.artifact,
            row.filename,
            row.media_type,
            row.most,
            moment(row.expires),
            row.account,
        )

    async def use(self, secret: str) -> bool:
        """Use it up; see the port."""
        now = ticks(self._clock.now())
        async with self._database.writing() as connection:
            used = await connection.execute(update(links).where(self._waits(secret)).values(used=now))
        return used.rowcount == 1

    def _waits(self, secret: str) -> ColumnElement[bool]:
        return (links.c.digest == _key(secret)) & links.c.used.is_(None) & (links.c.expires > ticks(self._clock.now()))

    def _reached(self) -> str:
        if self.origin is None:
            raise Unsupported(
                "links are there only where the service is reached over HTTP, by `mcp-proton serve`",
                code="links_need_http",
                next="save with `folder`, or attach by `path`, `url`, `message` or text (artifacts_create)",
            )
        return self.origin


def _key(secret: str) -> str:
    return digest(secret).hex()
