"""WebAddress: an https address, read once. What is judged, shown to the owner, looked up and asked for is this value.

Strict on purpose: what two programs could read differently (user names, backslashes, blanks, numbers for a host) is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import idna

from mcp_proton.domain.errors import Invalid

LONGEST = 2048
HTTPS = 443

_SHAPE = re.compile(r"https://([^/?#]+)(/[^?#]*)?(\?[^#]*)?(?:#.*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"([^:@\[\]]+)(?::([0-9]{1,5}))?")
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])")
"""At least two labels, the last of which begins with a letter: no number, in whatever base, is a host (WHATWG URL §3.5)."""
_REFUSED = re.compile(r"[\x00-\x20\x7f-\x9f\\\u2028\u2029\ud800-\udfff]")
_TRAVELS = re.compile(r"%[0-9A-Fa-f]{2}|[A-Za-z0-9._~!$&'()*+,;=:@/?-]")


@dataclass(frozen=True, slots=True)
class WebAddress:
    """`host` is ASCII in lower case (IDNA 2008), `target` the path and query as they travel; a fragment never does."""

    host: str
    port: int
    target: str

    @classmethod
    def parse(cls, text: str) -> WebAddress:
        """Read an address. `Invalid` (`bad_url`) for anything but a plain https address of a named host."""
        text = text.strip(" ")
        if len(text) > LONGEST or _REFUSED.search(text):
            raise _bad(f"at most {LONGEST} characters, no blank, control character or backslash")
        shape = _SHAPE.fullmatch(text)
        authority = _AUTHORITY.fullmatch(shape[1]) if shape else None
        if shape is None or authority is None:
            raise _bad("https, a host by its name, no user name")
        port = int(authority[2]) if authority[2] else HTTPS
        if not 0 < port < 65_536:
            raise _bad("a port from 1 to 65535")
        return cls(_host(authority[1]), port, _travelling(f"{shape[2] or '/'}{shape[3] or ''}"))

    @property
    def authority(self) -> str:
        """Host and port, the port only where it is not the usual one."""
        return self.host if self.port == HTTPS else f"{self.host}:{self.port}"

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def __str__(self) -> str:
        return f"https://{self.authority}{self.target}"


def host_name(text: str) -> str | None:
    """Return a host's name as it travels: ASCII, lower case, without a last dot. None: it is no such name."""
    bare = text.lower().removesuffix(".")
    try:
        name = bare if bare.isascii() else idna.encode(bare, uts46=True).decode("ascii")
    except idna.IDNAError:
        return None
    return name if len(name) <= 253 and _HOST.fullmatch(name) else None


def _host(text: str) -> str:
    name = host_name(text)
    if name is None:
        raise _bad("a host by its full name, such as files.example.org; numbers are not taken")
    return name


def _travelling(target: str) -> str:
    """Percent-encode what may not stand in a request line (RFC 3986 §2.1); what is encoded already stays."""
    return "".join(
        piece if _TRAVELS.fullmatch(piece) else "".join(f"%{octet:02X}" for octet in piece.encode())
        for piece in re.findall(r"%[0-9A-Fa-f]{2}|.", target)
    )


def _bad(must: str) -> Invalid:
    return Invalid(f"this is not an address that can be fetched: {must}", code="bad_url")
