"""Trouble, told to a person: a sentence and what to do next for whatever stopped a command. Never a traceback.

With `--json` the same is one JSON value in the shape of every answer. Texts of foreign exceptions are not shown: they may
quote mail or a password.
"""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import CycloptsError, MissingArgumentError, UnknownCommandError, UnknownOptionError, UnusedCliTokensError

from mcp_proton.admin.asking import NobodyAnsweredError, NobodyToAskError, SaidNoError
from mcp_proton.admin.exits import Exit, of_status
from mcp_proton.domain.errors import Invalid, MailError

if TYPE_CHECKING:
    pass

_SOURCES = Path(__file__).parents[1]


@dataclass(frozen=True)
class Trouble:
    """What stopped a command. `whys` has a line for each thing that is wrong."""

    exit: Exit
    status: str
    code: str
    whys: tuple[str, ...]
    next: str | None = None

    def lines(self) -> list[str]:
        """Return the lines for a person."""
        first, *more = self.whys
        told = [f"mcp-proton: {first}", *(f"            {why}" for why in more)]
        return [*told, f"            {self.next}"] if self.next else told

    def answer(self) -> dict[str, Any]:
        """Return the answer for a program."""
        told: dict[str, Any] = {"status": self.status, "code": self.code, "why": "; ".join(self.whys)}
        return {**told, "next": self.next} if self.next else told


def trouble(error: BaseException, command: str) -> Trouble:
    """Say what an exception means that ended a command (`mcp-proton do`, say)."""
    match error:
        case KeyboardInterrupt() | asyncio.CancelledError():
            return Trouble(Exit.INTERRUPTED, "cancelled", "interrupted", ("interrupted",))
        case NobodyToAskError():
            return Trouble(Exit.USAGE, "refused", "needs_answer", tuple(error.questions), error.next)
        case NobodyAnsweredError():
            return Trouble(Exit.REFUSED, "cancelled", "no_answer", ("no answer was given; nothing was changed",))
        case SaidNoError():
            return Trouble(Exit.REFUSED, "cancelled", "said_no", ("you said no; nothing was changed",))
        case CycloptsError():
            return Trouble(Exit.USAGE, "refused", "usage", (_usage(error),), f"`{command} --help` explains")
        case MailError():
            return _ours(error)
        case OSError() if error.filename is not None:
            what = (error.strerror or "cannot be used").lower()
            return Trouble(Exit.USAGE, "refused", "file", (f"`{error.filename}`: {what}",))
        case OSError():
            what = (error.strerror or type(error).__name__).lower()
            return Trouble(Exit.UNAVAILABLE, "unavailable", "system", (f"this machine says: {what}",))
        case UnicodeError():
            return Trouble(Exit.USAGE, "refused", "not_text", ("what was given is not UTF-8 text",))
    return Trouble(
        Exit.FAULT,
        "unavailable",
        "internal",
        (f"a fault of ours stopped this ({type(error).__name__} {_place(error)})",),
        "please report it; nothing was repeated",
    )


def _ours(error: MailError) -> Trouble:
    complaints = getattr(error, "complaints", ())
    if complaints:
        return Trouble(Exit.USAGE, "refused", error.code, tuple(map(str, complaints)), error.next)
    code = Exit.USAGE if isinstance(error, Invalid) else of_status(error.status)
    return Trouble(code, error.status, error.code, (error.message,), error.next)


def _usage(error: CycloptsError) -> str:
    """Say what is wrong with the command line. Cyclopts' own words would load every command to suggest one."""
    match error:
        case UnknownCommandError() if error.unused_tokens:
            return f"there is no command `{error.unused_tokens[0]}`"
        case UnknownOptionError():
            return f"there is no option `{error.token.keyword or error.token.value}` here"
        case UnusedCliTokensError() if error.unused_tokens:
            return f"`{error.unused_tokens[0]}` is one word too many"
        case MissingArgumentError() if error.argument is not None:
            return f"`{error.argument.name}` is missing"
    return " ".join(str(error).split()).rstrip(".")


def _place(error: BaseException) -> str:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename).is_relative_to(_SOURCES)]
    last = frames[-1] if frames else None
    return f"in {Path(last.filename).relative_to(_SOURCES)}:{last.lineno}" if last else "outside our code"
