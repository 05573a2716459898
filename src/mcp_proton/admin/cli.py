"""The command line: `mcp-proton <command>`. Every command says what it does by `--help`, and speaks JSON by `--json`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cyclopts import App

from mcp_proton import __version__
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.domain.errors import MailError

from .asking import NotATerminalError
from .exits import MEANING, Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = "mcp_proton.admin"
_EXITS = "\n\n".join(f"{code.value}  {meaning}" for code, meaning in MEANING.items())

app = App(
    name="mcp-proton",
    version=__version__,
    help="The whole of your mail for any MCP agent, under rules you set.",
    help_epilogue=f"Exit codes:\n\n{_EXITS}",
)
# Import paths: a command's module is loaded when it is called, so that `--help` and small commands stay quick.
app.command(f"{_HERE}.setup:setup", help="Connect a mail account and choose what agents may do.")
app.command(f"{_HERE}.doctor:doctor", help="Check everything and say what to do about what is wrong.")
app.command(f"{_HERE}.accounts:app", name="accounts", help="See, check and remove accounts.")
app.command(f"{_HERE}.clients:app", name="clients", help="See, add and remove the agents you let in.")
app.command(f"{_HERE}.policy:app", name="policy", help="See and choose what agents may do.")
app.command(f"{_HERE}.approvals:app", name="approvals", help="See what waits for you, and answer.")
app.command(f"{_HERE}.activity:activity", help="See what was done, by whom.")
app.command(f"{_HERE}.operate:app", name="do", help="Do one thing yourself, through the same door as every agent.")
app.command(f"{_HERE}.configuration:app", name="config", help="Check your files, and see where they are.")
app.command(
    f"{_HERE}.configuration:set_passphrase",
    name="passphrase",
    help="Set the owner passphrase, for approving without a terminal.",
)
app.command(
    f"{_HERE}.simulate:app",
    name="simulator",
    help="Run a stand-in for Proton Mail Bridge, or replay recordings against it.",
)
app.command(f"{_HERE}.service:mcp", name="mcp", help="Serve MCP over standard input and output.")


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Expected trouble is a sentence, never a traceback."""
    try:
        ended = app(list(arguments), exit_on_error=False, print_error=True, result_action="return_value")
    except (NotATerminalError, Misconfigured) as error:
        print(f"mcp-proton: {error}", file=sys.stderr)  # noqa: T201 - a person reads this
        return Exit.USAGE
    except MailError as error:
        print(f"mcp-proton: {error.message}" + (f"; {error.next}" if error.next else ""), file=sys.stderr)  # noqa: T201
        return Exit.UNAVAILABLE
    except KeyboardInterrupt:
        return 130
    return int(ended) if isinstance(ended, int) else Exit.DONE
