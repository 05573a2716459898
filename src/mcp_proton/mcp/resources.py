"""Operations with a `uri` as MCP resources: the same request, the same door, the same envelope (P-82).

URIs hold handles and ids, never words of a message (P-86).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fastmcp.resources.base import Resource, ResourceContent, ResourceResult
from fastmcp.resources.template import ResourceTemplate
from pydantic import PrivateAttr

from mcp_proton.domain.caller import Audience, Surface
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import UNIQUE_ROLES, Role
from mcp_proton.mcp.arguments import read
from mcp_proton.mcp.calls import submit, turned_down
from mcp_proton.mcp.replies import compact
from mcp_proton.mcp.tools import describe
from mcp_proton.services.door.registry import Definition, primitive
from mcp_proton.services.presenting.answers import answer
from mcp_proton.services.presenting.telling import told

if TYPE_CHECKING:
    from collections.abc import Iterator

    import mcp_types

    from mcp_proton.domain.operation import Request
    from mcp_proton.mcp.doorway import Doorway
    from mcp_proton.services.door.registry import Catalog
    from mcp_proton.services.door.service import MailService

_JSON = "application/json"
_OPAQUE = re.compile("|".join([*UNIQUE_ROLES, "[a-z2-7]{6}"]))
"""a role, or a mailbox's part of a handle (P-86)"""
_KNOWN = {"mailbox": Role.INBOX.value}
"""what is listed of what there may be many of"""


class OperationTemplate(ResourceTemplate):
    """One operation as a resource; the variables of the template are its arguments."""

    KEY_PREFIX: ClassVar[str] = "template"

    _definition: Definition = PrivateAttr()
    _doorway: Doorway = PrivateAttr()

    @classmethod
    def of(cls, definition: Definition, uri: str, doorway: Doorway) -> Self:
        """Make the template."""
        made = cls(
            uri_template=uri,
            name=definition.name,
            description=describe(definition),
            mime_type=_JSON,
            parameters={"type": "object", "properties": {name: {"type": "string"} for name in _variables(uri)}},
        )
        made._definition = definition
        made._doorway = doorway
        return made

    @property
    def definition(self) -> Definition:
        """What is asked."""
        return self._definition

    def request_at(self, uri: str) -> Request:
        """Return what a URI asks. Raises `Invalid`."""
        given = self.matches(uri) or {}
        if not _OPAQUE.fullmatch(given.get("mailbox", Role.INBOX)):
            raise Invalid("in a URI a mailbox is named by its role, or by the middle part of its messages' handles")
        return read(self._definition.request, given)

    def fits(self, uri: str) -> bool:
        """Whether this is one of ours, down to the shape of its ids."""
        if self.matches(uri) is None:
            return False
        try:
            self.request_at(uri)
        except Invalid:
            return False
        return True

    async def read_at(self, uri: str) -> ResourceResult:
        """Put it to the door."""
        try:
            request = self.request_at(uri)
        except Invalid as wrong:
            body = answer(told(await turned_down(self._doorway, Surface.RESOURCE, self._definition, wrong)))
        else:
            body = answer(await submit(self._doorway, Surface.RESOURCE, request))
        return ResourceResult([ResourceContent(compact(body)[0], mime_type=_JSON)])

    def to_mcp_template(self, **overrides: Any) -> mcp_types.ResourceTemplate:
        """Return the template as it is listed."""
        return super().to_mcp_template(**{"_meta": None} | overrides)


class ListedResource(Resource):
    """A resource of which all is known already. It is read by its template."""

    KEY_PREFIX: ClassVar[str] = "resource"

    def to_mcp_resource(self, **overrides: Any) -> mcp_types.Resource:
        """Return the resource as it is listed."""
        return super().to_mcp_resource(**{"_meta": None} | overrides)


def templates(catalog: Catalog, doorway: Doorway) -> list[OperationTemplate]:
    """Return every template an agent may be shown."""
    return [OperationTemplate.of(definition, uri, doorway) for definition, uri in _addressed(catalog)]


def find(catalog: Catalog, doorway: Doorway, uri: str) -> OperationTemplate | None:
    """Return the template a URI belongs to: an account called `messages` does not hide behind the messages."""
    matching = [template for template in templates(catalog, doorway) if template.matches(uri) is not None]
    return next((template for template in matching if template.fits(uri)), matching[0] if matching else None)


async def concrete(service: MailService, doorway: Doorway) -> list[ListedResource]:
    """Return the resources that need only an account, and the inbox, for each account the caller may see."""
    offered = await service.offered(doorway.caller(Surface.RESOURCE))
    listing = service.world.catalog.by_name["accounts_list"].request()
    accounts = answer(await submit(doorway, Surface.RESOURCE, listing)).get("accounts", [])
    return [
        ListedResource(
            uri=uri.format(account=account["account"], **_KNOWN),
            name=f"{definition.name} {account['account']}",
            description=describe(definition),
            mime_type=_JSON,
        )
        for definition, uri in _addressed(service.world.catalog)
        if {"account"} <= {*_variables(uri)} <= {"account", *_KNOWN} and definition.name in offered.names
        for account in accounts
    ]


def _addressed(catalog: Catalog) -> Iterator[tuple[Definition, str]]:
    for definition in catalog.for_audience(Audience.AGENT):
        uri = primitive(definition).uri
        if uri is not None and primitive(definition) is definition:
            yield definition, uri


def _variables(uri: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", uri)
