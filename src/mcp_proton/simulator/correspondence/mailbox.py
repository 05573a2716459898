"""A whole made-up mailbox: the owner's story of the last weeks, and everyday mail of two years around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.simulator.correspondence import everyday, friends_chapters, home_chapters, post_chapters, work_chapters
from mcp_proton.simulator.correspondence.letter import Kind, Letter, written
from mcp_proton.simulator.correspondence.owner import Owner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

FOLDERS = (
    "Folders/Clients",
    "Folders/Clients/Harbour Museum",
    "Folders/Clients/City Library",
    "Folders/Travel",
    "Folders/Receipts",
    "Folders/Recipes",
)
LABELS = ("Labels/Home", "Labels/Work", "Labels/Important", "Labels/Invoices", "Labels/Travel")


@dataclass(frozen=True, slots=True)
class Generated:
    """One message of the mailbox, small until its bytes are asked for.

    `place` is an API name (`inbox`, `sent`, `Folders/Travel`), `labels` are IMAP paths, `kind` is Proton's flavour.
    An `imported` message was put there by another program, all others were delivered, sent or drafted.
    """

    place: str
    labels: tuple[str, ...]
    starred: bool
    unread: bool
    received: datetime
    kind: Kind
    imported: bool
    write: Callable[[], bytes]

    @property
    def raw(self) -> bytes:
        """The original text with CRLF; written anew each time, always the same."""
        return self.write()


def generate(seed: int, count: int, now: datetime, owner: str) -> Iterator[Generated]:
    """`count` messages of a lively mailbox in the order they came, the same for the same arguments.

    The owner's own story comes first into any mailbox (the newest of it if `count` is small), everyday mail fills the rest.

    Args:
        seed: chooses the everyday mail.
        count: how many messages, from one to many thousands.
        now: the moment the mailbox is looked at; the oldest mail is two years older.
        owner: `Name <address>` of the person whose mailbox it is.
    """
    person = Owner.parse(owner)
    found = [_generated(letter, now, _Story(letter, now)) for letter in story(person, now)]
    found.sort(key=_moment)
    found = found[-count:] if count > 0 else []
    number = 0
    while len(found) < count:
        plan = everyday.exchange(seed, number)
        found += [
            _of_exchange(plan, position, now, person) for position in range(min(len(plan.agos), count - len(found)))
        ]
        number += 1
    found.sort(key=_moment)
    yield from found


def story(owner: Owner, now: datetime) -> list[Letter]:
    """The letters of the small mailbox, in no order."""
    return [
        *home_chapters.letters(owner),
        *friends_chapters.letters(owner, now),
        *work_chapters.letters(owner, now),
        *post_chapters.letters(owner),
    ]


def _moment(generated: Generated) -> datetime:
    return generated.received


def _generated(letter: Letter, now: datetime, write: Callable[[], bytes]) -> Generated:
    return Generated(
        place=letter.place,
        labels=letter.labels,
        starred=letter.starred,
        unread=letter.unread and letter.kind == "received",
        received=now - letter.ago,
        kind=letter.kind,
        imported=letter.imported,
        write=write,
    )


def _of_exchange(plan: everyday.Exchange, position: int, now: datetime, owner: Owner) -> Generated:
    mine = everyday.mine(position)
    return Generated(
        place="sent" if mine else plan.place,
        labels=() if mine else plan.labels,
        starred=plan.starred and not mine,
        unread=plan.unread and not mine,
        received=now - plan.agos[position],
        kind="sent" if mine else "received",
        imported=plan.shape == "odd" and plan.seed % 3 == 0,
        write=_Everyday(plan, position, now, owner),
    )


@dataclass(frozen=True, slots=True)
class _Story:
    letter: Letter
    now: datetime

    def __call__(self) -> bytes:
        return written(self.letter, self.now)


@dataclass(frozen=True, slots=True)
class _Everyday:
    """Holds numbers, not text: fifty thousand of these fit where their letters wouldn't."""

    plan: everyday.Exchange
    position: int
    now: datetime
    owner: Owner

    def __call__(self) -> bytes:
        return written(everyday.letter(self.plan, self.position, self.now, self.owner), self.now)
