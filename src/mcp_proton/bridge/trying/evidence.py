"""What is known of which Bridge version, and how well (P-09, N-8): recorded, or proved by a trial on the owner's account.

3.21.1 was recorded command by command. Reading is the same in every version seen since; what a change really does is
not: 3.23.x took EXPUNGE apart (`expunge_unverified`), so there nothing that removes mail is to be relied upon. What a
trial (`canary`) showed to be otherwise is refused, on the recorded version too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from mcp_proton.domain.consequences import Consequence, EffectTable, Evidence
from mcp_proton.domain.ports import Standing
from mcp_proton.imap import features

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from mcp_proton.domain.findings import Finding

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
UNKNOWN = "unknown"
"""the version of a Bridge that does not say which it is"""
_READING = ("search", "threads")
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "flags": ("set_flags", "unmark_deleted"),
    "move": ("move",),
    "labels": ("label", "unlabel"),
    "exact_removal": ("destroy",),
    "mailboxes": ("create", "rename", "remove"),
    "reattach": ("reattach",),
    "append": ("append",),
}
"""verbs that stand or fall together, by the words of `imap.features` where there is one"""
TRIED = frozenset({"set_flags", "move", "label", "unlabel", "destroy", "create", "rename", "remove"})
"""what a trial tries: a family is proved when all of its verbs that are tried were, and one at least is"""
_FAMILY_OF = {verb: family for family, verbs in FAMILIES.items() for verb in verbs}
_SENDING = ("send", "files_sent")
_LACKING = {
    "copy": "a copy into a folder moves the message",
    "keywords": "the next event of the message erases them",
    "append_dates": "the date given is ignored",
    "counts_in_list": "each mailbox has to be asked",
    "guarded_flags": "it has no CONDSTORE",
}


def version_in(greeting: str) -> Version | None:
    """The version a greeting or an ID answer names; None where it is not Bridge's."""
    found = _GREETING.search(greeting)
    return None if found is None else Version(int(found[1]), int(found[2]), int(found[3]))


def expunge_unverified(version: Version | None) -> bool:
    """Whether it is open what EXPUNGE does on the account: in 3.23.x, and where the version is not known."""
    return version is None or (version.major, version.minor) == (3, 23)


def standings(version: Version | None, findings: Mapping[str, Finding] | None) -> Mapping[str, Standing]:
    """The standing of every family. `findings` are of this version; None: they cannot be read, so nothing is proved."""
    known = findings or {}
    told: dict[str, Standing] = {}
    for family, verbs in FAMILIES.items():
        found = [known[verb] for verb in verbs if verb in known]
        tried = TRIED & set(verbs)
        if any(not one.proved for one in found):
            told[family] = Standing.UNAVAILABLE
        elif (version == RECORDED and findings is not None) or (tried and tried <= known.keys()):
            told[family] = Standing.AVAILABLE
        else:
            told[family] = Standing.UNVERIFIED
    return told


def judged(table: EffectTable, version: Version | None, findings: Mapping[str, Finding] | None) -> EffectTable:
    """The table as far as this version is known to keep to it.

    What was seen to do something else is refused; what is neither recorded nor proved is `unverified`; what a trial
    proved is `live`.
    """
    known, families = findings or {}, standings(version, findings)
    return EffectTable(_row(row, families, known, recorded=version == RECORDED) for row in table.rows)


def _row(
    row: Consequence, families: Mapping[str, Standing], known: Mapping[str, Finding], *, recorded: bool
) -> Consequence:
    family = _FAMILY_OF.get(row.verb)
    if family is None or row.refused:
        return row
    standing = families[family]
    if standing is Standing.UNAVAILABLE:
        why = next(one.why for verb in FAMILIES[family] if (one := known.get(verb)) is not None and not one.proved)
        return replace(row, refused=True, result=_otherwise(why), instead=_ASK_THE_OWNER, evidence=(Evidence.LIVE,))
    if standing is Standing.UNVERIFIED:
        return replace(row, evidence=(Evidence.UNVERIFIED,))
    return row if recorded else replace(row, evidence=(Evidence.LIVE,))


def _otherwise(why: str) -> str:
    return f"a trial showed that this version of Bridge does something else ({why})"


_ASK_THE_OWNER = "ask the owner to do it in a Proton app, and to look at `mcp-proton doctor`"


def features_of(
    version: Version | None,
    capabilities: AbstractSet[str] | None,
    findings: Mapping[str, Finding] | None = MappingProxyType({}),
) -> Mapping[str, Standing]:
    """The standing of every word of `imap.features` on this version."""
    if capabilities is None:
        return dict.fromkeys(features.WORDS, Standing.UNVERIFIED)
    standing = {
        **dict.fromkeys(_READING, Standing.AVAILABLE),
        **standings(version, findings),
        **dict.fromkeys((*_LACKING, *features.BEYOND_MAIL), Standing.UNAVAILABLE),
        **dict.fromkeys(_SENDING, Standing.AVAILABLE if version == RECORDED else Standing.UNVERIFIED),
        "idle": Standing.AVAILABLE if "IDLE" in capabilities else Standing.UNAVAILABLE,
    }
    return {word: standing[word] for word in features.WORDS}
