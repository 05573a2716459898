"""What is said in this process: every log record as the product writes it, and whatever a test's tools give in.

What was heard is kept until the test is over (`taken`).
"""

from __future__ import annotations

import functools
import logging
from pathlib import PurePath

from mcp_proton.mcp.logs import JsonFormatter, PrivateFormatter
from tests.canaries import words

_FORMS = (PrivateFormatter(), JsonFormatter())
MEANT = {
    (" serve --demo", "a client's token"),  # of a mailbox that is made up: how one gets in
    ("mcp_proton setup", "an address"),  # shown to the owner who typed it, before it is written
}
"""What a process may say of mail all the same: a word of its command, and the kind."""
_HEARD: list[str] = []


def listen(text: str, place: str, first: int = 1) -> None:
    """Note which kinds of canaries are in a text that was said at a place; `first` is the number of its first line."""
    for number, line in enumerate(text.splitlines(), first):
        kinds = {kind for kind in words.heard_in(line) if not any(word in place and kind == one for word, one in MEANT)}
        _HEARD.extend(f"{kind}, in line {number} of {place}" for kind in sorted(kinds))


def taken() -> list[str]:
    """Return what was heard, and forget it."""
    found = list(dict.fromkeys(_HEARD))
    _HEARD.clear()
    return found


def listen_to_logs() -> None:
    """Look at each record of this process that its logger lets through, whatever handlers there are."""
    handle = logging.Logger.handle

    @functools.wraps(handle)
    def looked(own: logging.Logger, record: logging.LogRecord) -> None:
        for form in _FORMS:
            where = f"{PurePath(record.pathname).name}:{record.lineno}"
            listen(form.format(record), f"a record of {record.name}, at {where}")
        handle(own, record)

    logging.Logger.handle = looked  # type: ignore[assignment, method-assign]
    logging.getLogger("mcp_proton").setLevel(logging.INFO)
