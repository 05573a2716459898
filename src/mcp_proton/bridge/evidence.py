"""What is known of which Bridge version, and how well (P-09): only what was recorded with a version counts as available.

3.21.1 was recorded command by command. Reading is the same in every version seen since; what a change really does is
not: 3.23.x took EXPUNGE apart (`expunge_unverified`), so there nothing that removes mail is to be relied upon.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Standing
from mcp_proton.imap import features

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

_GREETING = re.compile(r"Proton Mail Bridge (\d{1,4})\.(\d{1,4})\.(\d{1,4})(?!\d)")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A Bridge version. Greetings pad it to two digits: `03.21.01` is 3.21.1."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


RECORDED = Version(3, 21, 1)
_READING = ("search", "threads")
_WRITING = ("flags", "move", "labels", "exact_removal", "send", "files_sent")
_LACKING = {
    "copy": "a copy into a folder moves the message",
    "keywords": "the next event of the message erases them",
    "append_dates": "the date given is ignored",
    "counts_in_list": "each mailbox has to be asked",
}


def version_in(greeting: str) -> Version | None:
    """The version a greeting or an ID answer names; None where it is not Bridge's."""
    found = _GREETING.search(greeting)
    return None if found is None else Version(int(found[1]), int(found[2]), int(found[3]))


def expunge_unverified(version: Version | None) -> bool:
    """Whether it is open what EXPUNGE does on the account: in 3.23.x, and where the version is not known."""
    return version is None or (version.major, version.minor) == (3, 23)


def features_of(version: Version | None, capabilities: AbstractSet[str] | None) -> Mapping[str, Standing]:
    """The standing of every word of `imap.features` on this version."""
    if capabilities is None:
        return dict.fromkeys(features.WORDS, Standing.UNVERIFIED)
    known = Standing.AVAILABLE if version == RECORDED else Standing.UNVERIFIED
    standing = {
        **dict.fromkeys(_READING, Standing.AVAILABLE),
        **dict.fromkeys(_WRITING, known),
        **dict.fromkeys(_LACKING, Standing.UNAVAILABLE),
        "idle": Standing.AVAILABLE if "IDLE" in capabilities else Standing.UNAVAILABLE,
    }
    return {word: standing[word] for word in features.WORDS}
