"""Why a file is not read: each reason by its word, with what a person is told. The words travel from the child."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid, MailError, Unsupported

if TYPE_CHECKING:
    from mcp_proton.documents.confinement import Limits

MOST_UNPACKED = 256 << 20
"""Octets that the parts of an archive unpack to, together."""
_SAVE = "`attachments_save` saves it as it is"


class Reason(StrEnum):
    """What is in the way. The values are codes of answers."""

    DAMAGED = "damaged_file"
    ENCRYPTED = "encrypted_file"
    MEMORY = "too_much_memory"
    MISSING = "extract_not_installed"
    NO_SUCH_PAGE = "no_such_page"
    OUTPUT = "too_much_text"
    OLD_OFFICE = "old_office_file"
    READER_DIED = "reader_died"
    TIME = "too_much_time"
    UNKNOWN = "unsupported_file"
    XML_BOMB = "xml_bomb"
    ZIP_BOMB = "zip_bomb"


_TOLD: dict[Reason, tuple[str, str]] = {
    Reason.DAMAGED: ("the file is damaged, or is not what its name says", _SAVE),
    Reason.ENCRYPTED: ("the file is encrypted and opens with a password only", "ask its sender for one without"),
    Reason.MEMORY: ("reading the file takes more than the {memory} MiB of memory that a reader may have", _SAVE),
    Reason.MISSING: (
        "reading PDF and Office files needs an extra that is not installed",
        f"ask the owner to run `pip install 'mcp-proton[extract]'`; {_SAVE}",
    ),
    Reason.NO_SUCH_PAGE: ("the file has no such pages", "read it without `pages` to see how many there are"),
    Reason.OUTPUT: ("the file's reader answered with more than the {output} KiB that it may", _SAVE),
    Reason.OLD_OFFICE: ("the file is in the binary format of Office before 2007, which has no reader", _SAVE),
    Reason.READER_DIED: ("the file's reader stopped over it: the file is damaged, or made to do harm", _SAVE),
    Reason.TIME: (
        "reading the file takes more time than a reader may have: {processor} s of work, {seconds:g} s in all",
        f"ask for fewer `pages`, or {_SAVE}",
    ),
    Reason.UNKNOWN: ("there is no text reader for this kind of file", _SAVE),
    Reason.XML_BOMB: ("the file defines XML entities, as only files do that are made to do harm", _SAVE),
    Reason.ZIP_BOMB: ("the file unpacks to more than the {unpacked} MiB that a reader takes", _SAVE),
}


class Unreadable(Exception):
    """The document cannot be read, for this reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


def told(reason: Reason, limits: Limits) -> MailError:
    """Return the answer for a reason; one that a reader's limits are the reason of names the limit."""
    why, next_step = _TOLD[reason]
    most = {"memory": limits.memory >> 20, "output": limits.output >> 10, "unpacked": MOST_UNPACKED >> 20}
    why = why.format(processor=limits.processor, seconds=limits.seconds, **most)
    kind = Invalid if reason is Reason.NO_SUCH_PAGE else Unsupported
    return kind(why, next=next_step, code=reason.value)
