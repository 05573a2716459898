"""What a fetched file is called, and of which kind it is: what its server says, as far as it can be one."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.header.parameters import parameters

if TYPE_CHECKING:
    from mcp_proton.domain.web_address import WebAddress

UNKNOWN = "application/octet-stream"
_KIND = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,59}/[a-z0-9][a-z0-9!#$&^_.+-]{0,59}")
_STRUCTURE = ("multipart/", "message/")


def named(disposition: str | None, address: WebAddress) -> str:
    """Return the name in Content-Disposition (RFC 6266), else the last step of the path; empty where there is none."""
    said = parameters((disposition or "").encode("latin-1", "replace")).parameters.get("filename", "")
    return line(said) or line(unquote(address.path.rpartition("/")[2]))


def kind(said: str | None, filename: str) -> str:
    """Return the media type without parameters; where none is told, what the name suggests."""
    told = parameters((said or "").encode("latin-1", "replace")).value
    if not _KIND.fullmatch(told) or told.startswith(_STRUCTURE) or told == UNKNOWN:
        return mimetypes.guess_type(filename)[0] or UNKNOWN
    return told
