"""The command line: `mcp-proton <command>`. Every command says what it does by `--help`, and speaks JSON by `--json`."""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import TYPE_CHECKING

from cyclopts import App

from mcp_proton import __version__
from mcp_proton.admin.exits import MEANING, Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = "mcp_proton.admin"
_EXITS = "\n".join(f"  {code.value:>3}  {meaning}" for code, meaning in MEANING.items())
_HELP = """The whole of your mail for any MCP agent, under rules you set.

  mcp-proton setup                         connect an account, let an agent in
  mcp-proton doctor                        check everything; says what to do
  mcp-proton do mailboxes_overview         what wants your attention
  mcp-proton do mailboxes_overview --demo  the same on made-up mail, at once
"""

app = App(
    name="mcp-proton",
    version=__version__,
    help=_HELP,
    help_format="plaintext",
    help_formatter="default" if sys.stdout.isatty() else "plain",
    suppress_keyboard_interrupt=False,
)
# Import paths: a command's module is loaded when it is called, so that `--help` and small commands stay quick.
app.command(f"{_HERE}.setup:app", name="setup", help="Connect a mail account and choose what agents may do.")
app.command(f"{_HERE}.doctor:app", name="doctor", help="Check everything and say what to do about what is wrong.")
app.command(f"{_HERE}.accounts:app", name="accounts", help="See, check and remove accounts.")
app.command(f"{_HERE}.clients:app", name="clients", help="See, add and remove the agents you let in.")
app.command(
    f"{_HERE}.people:app", name="people", help="Let people in, each with the mailbox that their own token opens."
)
app.command(f"{_HERE}.passkeys:app", name="passkeys", help="Let programs in with a passkey, and see which are in.")
app.command(f"{_HERE}.policy:app", name="policy", help="See and choose what agents may do.")
app.command(f"{_HERE}.approvals:app", name="approvals", help="See what waits for you, and answer.")
app.command(f"{_HERE}.receipts:app", name="receipts", help="See what was sent, and check a message against it.")
app.command(f"{_HERE}.activity:app", name="activity", help="See what was done, by whom.")
app.command(f"{_HERE}.operate:app", name="do", help="Do one thing yourself, through the same door as every agent.")
app.command(f"{_HERE}.configuration:app", name="config", help="Check your files, and see where they are.")
app.command(
    f"{_HERE}.configuration:passphrase_app",
    name="passphrase",
    help="Set the owner passphrase, for approving without a terminal.",
)
app.command(
    f"{_HERE}.simulate:app",
    name="simulator",
    help="Run a stand-in for Bridge, or replay recordings against it.",
)
app.command(f"{_HERE}.service:app", name="mcp", help="Serve MCP over standard input and output.")
app.command(f"{_HERE}.service:connect_app", name="connect", help="Reach the always-on service from a pipe.")
app.command(f"{_HERE}.service:serve_app", name="serve", help="Serve MCP over HTTP to all your clients.")
app.help_epilogue = f"Exit codes:\n{_EXITS}"


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Trouble is a sentence and what to do, never a traceback."""
    _keep_logs_quiet()
    _print_whatever_comes()
    words = _underscored(arguments)
    try:
        ended = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # the second is how rich ends when nobody reads any more
        return _leave_quietly()
    except (Exception, KeyboardInterrupt) as error:
        return _told(error, words)
    return int(ended) if isinstance(ended, int) else Exit.DONE


def _told(error: BaseException, arguments: Sequence[str]) -> int:
    from mcp_proton.admin.printing import Printer
    from mcp_proton.admin.trouble import trouble

    found = trouble(error, " ".join(_commands(arguments)))
    try:
        if "--json" in arguments:
            Printer(as_json=True).json(found.answer())
        for line in found.lines() if "--json" not in arguments else ():
            Printer().remark(line)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        return _leave_quietly()
    return found.exit


def _commands(arguments: Sequence[str]) -> list[str]:
    """Return the command words a person typed, as far as they are commands."""
    words, here = ["mcp-proton"], app
    for word in arguments:
        if word.startswith("-") or word not in here:
            break
        words.append(word)
        here = here[word]
    return words


def _underscored(arguments: Sequence[str]) -> list[str]:
    """Take `do messages-get` for `do messages_get`: the first is how a shell's words look, the second the tool's name."""
    words = list(arguments)
    if words[:1] == ["do"]:
        place = next((place for place, word in enumerate(words) if place and not word.startswith("-")), None)
        if place is not None:
            words[place] = words[place].replace("-", "_")
    return words


def _keep_logs_quiet() -> None:
    """Leave the terminal to answers: what is logged for those who look after a service is not for a person at a prompt."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())


def _print_whatever_comes() -> None:
    """Show what the terminal's encoding lacks as an escape: mail knows every letter, some terminals do not."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_quietly() -> int:
    """End without a word to a reader that went away; Python would complain while it flushes at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Exit.PIPE_CLOSED
