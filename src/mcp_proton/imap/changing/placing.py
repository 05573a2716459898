"""What the answer to a COPY or MOVE says of each message that was named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Ambiguous, MailError, NotFound
from mcp_proton.domain.outcome import Fate, Proof
from mcp_proton.imap import keys
from mcp_proton.imap.errors import ProtocolViolation, Rejected
from mcp_proton.imap.protocol.codes import CopyUid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.marks import Mark
    from mcp_proton.imap.groups import Group


def pairs(answer: CopyUid | MailError | None) -> dict[int, int]:
    """Source UID → target UID, as far as an answer names them; nothing where it names them in a way that can't be true."""
    if not isinstance(answer, CopyUid):
        return {}
    try:
        return answer.pairs()
    except ProtocolViolation:
        return {}


def names_exactly(answer: CopyUid | MailError | None, uids: Iterable[int]) -> bool:
    """Whether it says that just these were placed."""
    return set(pairs(answer)) == set(uids)


def placed(
    group: Group, answer: CopyUid, to: Mailbox, proof: Proof, marks: Mapping[int, Mark | None]
) -> dict[int, Fate]:
    """The fates of what the answer names."""
    known = pairs(answer)
    return {
        uid: Fate.done(
            group.handle(uid),
            keys.handle(to, answer.uidvalidity, known[uid]),
            proof=proof,
            identity=identity(marks.get(uid)),
        )
        for uid in group.uids
        if uid in known
    }


def identity(mark: Mark | None) -> str | None:
    """A mark as a fate keeps it."""
    return None if mark is None else str(mark)


def unsure(command: str) -> Ambiguous:
    """The error for what a refused command may have done all the same."""
    return Ambiguous(f"the mail server refused `{command}`, and that need not mean that nothing was done")


def of_refusal(error: MailError) -> MailError:
    """An error in the words of people who file mail."""
    if isinstance(error, Rejected) and error.response_code == "TRYCREATE":
        return NotFound("the destination is gone", code="no_such_mailbox", next="list mailboxes again")
    return error
