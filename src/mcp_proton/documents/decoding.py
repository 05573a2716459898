"""Text of any claimed charset, where no file can be opened any more: what decoding needs is loaded before."""

from __future__ import annotations

import encodings
import pkgutil
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.kinds import MOST_OF_A_TEXT
from mcp_proton.domain.mail import Part
from mcp_proton.mime.decoding import charset, text

if TYPE_CHECKING:
    from mcp_proton.domain.documents import Claim
    from mcp_proton.mime.notices import Decoded

_UNLIKELY = "Ünlíkèly, wôrds".encode("latin-1") * 9


def prepare() -> None:
    """Load every charset that Python knows, and what guessing one needs."""
    for module in pkgutil.iter_modules(encodings.__path__):
        with suppress(LookupError, ValueError):  # of another system, or no charset
            b"a".decode(module.name)
    charset.decode(_UNLIKELY)


def decoded(file: BinaryIO, claim: Claim, media_type: str = "text/plain") -> Decoded:
    """Return the text of a file, or of as much of it as is read of one."""
    said = {"format": "flowed" if claim.flowed else "", "delsp": "yes" if claim.delete_space else ""}
    part = Part("1", media_type, encoding="binary", charset=claim.charset, parameters=said)
    octets, complete = beginning(file, claim)
    return text.decode(part, octets, complete=complete)


def beginning(file: BinaryIO, claim: Claim) -> tuple[bytes, bool]:
    """Return as much of a file as is read of a text, and whether that is all of it."""
    octets = file.read(MOST_OF_A_TEXT + 1)
    return octets[:MOST_OF_A_TEXT], claim.complete and len(octets) <= MOST_OF_A_TEXT
