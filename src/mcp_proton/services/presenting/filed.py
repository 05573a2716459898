"""Filed: how many messages fared, said in few tokens. Up to 50 items inline; the rest is counted and told by status."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Result
from mcp_proton.domain.outcome import INLINE, Ending, Fate, Status, Tally


class Undone(Result):
    """A message for which it was not done, and why. `now` is where it is, where that is proved."""

    handle: str
    code: str
    why: str | None = None
    now: str | None = None


class Filed(Result):
    """How it ended.

    `handles` are the handles afterwards, in the order asked, when all were done; `moved` says which became which when some
    were not. `proof`: copyuid, the server named where they are; seen, they were seen there. `left` were not begun.
    `warning`: it was done, and not all of it as it should be.
    """

    done: int = 0
    handles: list[str] = []
    moved: dict[str, str] = {}
    already: int = 0
    not_done: list[Undone] = []
    failed: int = 0
    uncertain: int = 0
    left: int = 0
    proof: str | None = None
    state: str | None = None
    more: str | None = None
    warning: str | None = None

    @property
    def ended(self) -> Status:
        """How the whole ended."""
        return Status(self.state) if self.state else Status.SUCCEEDED

    @property
    def code_of_end(self) -> str | None:
        """The one reason, where nothing was done and all have the same."""
        return only_reason((one.code for one in self.not_done), acted=self.done)


def only_reason(codes: Iterable[str], *, acted: int) -> str | None:
    """Return the code of why nothing was done, where all have the same one; `acted`: how many were done."""
    different = set(codes)
    return different.pop() if acted == 0 and len(different) == 1 else None


def filed(tally: Tally, asked: Sequence[str]) -> Filed:
    """Tell a tally."""
    counts, done = tally.counts, tally.done
    new = {str(fate.handle): str(fate.now) for fate in done if fate.now is not None}
    others = [fate for fate in tally.others if fate.ending is not Ending.SKIPPED or fate.code == tally.stopped]
    whole = tally.ended is Status.SUCCEEDED and not counts[Ending.SKIPPED]
    few = counts[Ending.DONE] <= INLINE
    values: dict[str, Any] = {
        "handles": [new[one] for one in dict.fromkeys(asked) if one in new] if whole and few else [],
        "moved": new if few and not whole else {},
        "state": None if tally.ended is Status.SUCCEEDED else tally.ended.value,
    }
    cut = not few or len(tally.others) >= INLINE
    return Filed(
        done=counts[Ending.DONE],
        already=counts[Ending.SKIPPED],
        not_done=[undone(fate) for fate in others],
        failed=counts[Ending.FAILED] if counts[Ending.FAILED] > len(others) else 0,
        uncertain=counts[Ending.UNCERTAIN],
        left=tally.left,
        proof=tally.proof.value if tally.proof else None,
        more="operations_status names every message" if cut else None,
        **values,
    )


def undone(fate: Fate) -> Undone:
    """Tell one that was not done."""
    return Undone(
        handle=str(fate.handle),
        code=fate.code or fate.ending.value,
        why=fate.why,
        now=None if fate.now is None else str(fate.now),
    )


def parsed(handles: Sequence[str]) -> list[Handle]:
    """Read the handles of a request."""
    return [Handle.parse(one) for one in handles]
