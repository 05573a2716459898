"""What values in config.toml may look like: names, places and words that one chooses from. A complaint never quotes a value."""

import re
import zoneinfo
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt

from mcp_proton.config import senders
from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.handles import SLUG
from mcp_proton.jmap.protocol.endpoint import Endpoint

OWNER = owner().name
_FINGERPRINT = re.compile(r"sha256:([0-9a-f]{2}:?){32}", re.IGNORECASE)


class Kind(StrEnum):
    """What stands behind an account."""

    BRIDGE = "bridge"
    IMAP = "imap"
    JMAP = "jmap"


class Security(StrEnum):
    """How the connection is protected. `plain` only towards this machine."""

    STARTTLS = "starttls"
    TLS = "tls"
    PLAIN = "plain"


class Profile(StrEnum):
    """How many tools a client is shown."""

    READER = "reader"
    CORE = "core"
    FULL = "full"
    COMPACT = "compact"


def _slug(name: str) -> str:
    if re.fullmatch(SLUG, name) is None:
        raise ValueError("must be a short name: a lower-case letter, then up to 15 letters, digits or hyphens")
    return name


def _client_name(name: str) -> str:
    if name == OWNER:
        raise ValueError("is the owner's own name; no client can have it")
    return _slug(name)


def _kind(word: object) -> object:
    if word not in frozenset(Kind):
        raise ValueError("must be bridge, imap or jmap")
    return word


def _certificate(text: str) -> str:
    if _FINGERPRINT.fullmatch(text) is None:
        raise ValueError("must be sha256: and 64 hexadecimal digits")
    return "sha256:" + text[7:].replace(":", "").lower()


def time_zone(name: str) -> str:
    """Return the name. ValueError unless it is one of a time zone."""
    try:
        zoneinfo.ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ValueError("must be a time zone such as Europe/Berlin") from None
    return name


def _host(text: str) -> str:
    if not text or any(c.isspace() or c in "/@" for c in text):
        raise ValueError("must be a host name or an address, without port or scheme")
    return text


def _url(text: str) -> str:
    try:
        Endpoint(text).origins  # noqa: B018 - looking is checking
    except MailError:
        raise ValueError("must be an https URL without a user; http only towards 127.0.0.1 or ::1") from None
    return text


AccountKind = Annotated[Kind, BeforeValidator(_kind)]
TimeZone = Annotated[str, AfterValidator(time_zone)]
Slug = Annotated[str, AfterValidator(_slug)]
ClientName = Annotated[str, AfterValidator(_client_name)]
Host = Annotated[str, AfterValidator(_host)]
Url = Annotated[str, AfterValidator(_url)]
Port = Annotated[StrictInt, Field(ge=1, le=65_535)]
Fingerprint = Annotated[str, AfterValidator(_certificate)]
Sender = Annotated[str, AfterValidator(senders.sender)]
Days = Annotated[StrictInt, Field(ge=0, le=3_650)]
Text = Annotated[str, Field(min_length=1)]
