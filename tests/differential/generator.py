"""Random sessions that are legal IMAP: the same seed makes the same session."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tests.differential.script import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.script import Model

STEPS = 26
MESSAGES = 6
_ODD = ("Folders", "Labels", "Recovered Messages", "Nowhere")
_PLACES = ("inbox", "trash", "archive", "spam", "starred", "Labels/Red", "Labels/Blue", "Folders/Work")
_PARENTS = ("Folders", "Folders", "Labels", "Folders/Work", "Folders/Deep", "Labels/Blue")
_FIXED = ("INBOX", "Drafts", "Sent", "Starred", "Archive", "Spam", "Trash", "All Mail", "Scheduled")
_OWN = ("Folders/Work", "Labels/Blue", "Labels/Red")
_UIDS = ("1", "2", "3", "1:*", "1:3", "2,4", "*", "2:*", "4:8", "6:5", "5,1")
_NUMBERS = ("1", "2", "1:*", "1:2", "*", "3", "2,1")
_FLAGS = (
    "\\Deleted", "\\Deleted", "\\Deleted", "\\Seen", "\\Seen", "\\Flagged", "\\Flagged \\Seen", "\\Answered", "Kw",
    "$Forwarded", "Forwarded", "\\Seen Kw \\Answered", "\\Deleted \\Seen", "\\Draft",
)  # fmt: skip
_KEYS = (
    "ALL", "DELETED", "UNDELETED", "SEEN", "UNSEEN", "FLAGGED", "ANSWERED", "KEYWORD Kw", "DRAFT", "UNKEYWORD $Forwarded",
    "SUBJECT m1", "UID 1:3", "UID 2:*", "1:2", "NOT SEEN", "OR DELETED FLAGGED", "TEXT Hello", "SENTSINCE 1-Jan-2023",
)  # fmt: skip
_ITEMS = (
    "FLAGS", "(UID FLAGS)", "ENVELOPE", "RFC822.SIZE", "BODYSTRUCTURE", "(FLAGS INTERNALDATE)",
    "BODY.PEEK[HEADER.FIELDS (SUBJECT)]", "BODY[TEXT]", "BODY[]<0.13>", "RFC822.HEADER", "(UID BODY.PEEK[TEXT])",
)  # fmt: skip
_COUNTS = "(MESSAGES UNSEEN UIDNEXT UIDVALIDITY)"


def generate(seed: int) -> Session:
    """The session of a seed."""
    return _Generator(seed).session()


class _Generator:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._keys = [f"m{number}" for number in range(MESSAGES)]
        self._boxes = [*_FIXED, *_OWN]
        self._made = 0

    def session(self) -> Session:
        model: Model = "real" if self._random.random() < 0.5 else "fake"
        given = tuple(self._given(key) for key in self._keys)
        first = [f"{client} SELECT {self._box()}" for client in "ab"]
        return Session(
            f"seed {self._seed}", model, given, (*first, *(self._step() for _ in range(STEPS)), "events", "a NOOP", "b NOOP")
        )  # fmt: skip

    def _given(self, key: str) -> str:
        flavour = self._random.choice(("", "", "", "sent", "draft"))
        home = {"": "inbox", "sent": "sent", "draft": "drafts"}[flavour]
        words = [key, self._random.choice((home, home, "archive", "trash", "spam", "Folders/Work")), flavour]
        words += [extra for extra in ("Labels/Blue", "starred", "read") if self._random.random() < 0.3]
        return " ".join(word for word in words if word)

    def _step(self) -> str:
        kinds: list[tuple[int, Callable[[], str]]] = [
            (12, lambda: "events"),
            (13, self._elsewhere),
            (18, self._select),
            (9, self._look),
            (12, self._store),
            (16, self._move),
            (8, self._expunge),
            (6, self._end),
            (4, self._append),
            (4, self._mailbox),
        ]
        make = self._random.choices([maker for _, maker in kinds], [weight for weight, _ in kinds])[0]
        return make()

    # -- clients

    def _client(self) -> str:
        return self._random.choice("ab")

    def _box(self) -> str:
        return f'"{self._random.choice((*self._boxes, "INBOX", "Trash", "Drafts"))}"'

    def _set(self) -> tuple[str, str]:
        """A command's prefix, and a set that goes with it."""
        if self._random.random() < 0.75:
            return "UID ", self._random.choice(_UIDS)
        return "", self._random.choice(_NUMBERS)

    def _select(self) -> str:
        word = self._random.choice(("SELECT", "SELECT", "SELECT", "SELECT", "EXAMINE"))
        return f"{self._client()} {word} {self._box()}"

    def _look(self) -> str:
        by_uid, numbers = self._set()
        return self._random.choice(
            (
                f"{self._client()} {by_uid}FETCH {numbers} {self._random.choice(_ITEMS)}",
                f"{self._client()} UID FETCH 1:* (FLAGS)",
                f"{self._client()} {by_uid}SEARCH {self._random.choice(_KEYS)}",
                f"{self._client()} STATUS {self._box()} {_COUNTS}",
                f'{self._client()} LIST "" "{self._random.choice(("*", "%", "Folders/%"))}"',
            )
        )

    def _store(self) -> str:
        by_uid, numbers = self._set()
        how = self._random.choice(("+FLAGS", "+FLAGS", "+FLAGS", "-FLAGS", "-FLAGS", "FLAGS"))
        silent = self._random.choice(("", "", ".SILENT"))
        return f"{self._client()} {by_uid}STORE {numbers} {how}{silent} ({self._random.choice(_FLAGS)})"

    def _move(self) -> str:
        by_uid, numbers = self._set()
        word = self._random.choice(("MOVE", "MOVE", "COPY"))
        if by_uid and self._random.random() < 0.03:
            numbers = "1,1"
        box = self._box() if self._random.random() < 0.97 else f'"{self._random.choice(_ODD)}"'
        return f"{self._client()} {by_uid}{word} {numbers} {box}"

    def _expunge(self) -> str:
        return f"{self._client()} {self._random.choice(('EXPUNGE', f'UID EXPUNGE {self._random.choice(_UIDS)}'))}"

    def _end(self) -> str:
        return f"{self._client()} {self._random.choice(('NOOP', 'NOOP', 'CHECK', 'CLOSE', 'UNSELECT'))}"

    def _append(self) -> str:
        flags = self._random.choice(("", "\\Seen", "\\Flagged", "\\Seen \\Answered", "$Forwarded"))
        return f"{self._client()} APPEND {self._box()} ({flags}) {{{self._new_key()}}}"

    def _mailbox(self) -> str:
        if self._random.random() < 0.6:
            path = self._new_path()
            self._boxes.append(path)
            return f'{self._client()} CREATE "{path}"'
        old = self._random.choice(self._boxes)
        if self._random.random() < 0.5:
            return f'{self._client()} DELETE "{old}"'
        new = self._new_path()
        self._boxes.append(new)
        return f'{self._client()} RENAME "{old}" "{new}"'

    # -- another device

    def _elsewhere(self) -> str:
        place = self._random.choice(_PLACES)
        key = self._random.choice(self._keys)
        return "elsewhere " + self._random.choices(
            (
                f"label {key} {place}", f"unlabel {key} {place}", f"read {key}", f"unread {key}", f"flag {key} replied",
                f"delete {key}", f"deliver {self._new_key()} {place}", self._label(),
            ),
            (30, 10, 10, 10, 6, 6, 12, 5),
        )[0]  # fmt: skip

    def _label(self) -> str:
        path = self._random.choice((*_OWN, *(box for box in self._boxes if "/" in box)))
        new = self._new_path()
        made = self._random.choice((f"make {new}", f"drop {path}", f"rename {path} {new.rpartition('/')[2]}"))
        if made.startswith("make"):
            self._boxes.append(new)
        return made

    def _new_key(self) -> str:
        self._made += 1
        self._keys.append(f"n{self._made}")
        return self._keys[-1]

    def _new_path(self) -> str:
        self._made += 1
        return f"{self._random.choice(_PARENTS)}/N{self._made}"
