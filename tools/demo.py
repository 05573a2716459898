"""The demonstration: a real MCP client talks to `mcp-proton mcp` over stdio, its owner types commands in a shell beside it,
and a person can follow every call.

No question is asked, nothing of yours is touched: mailbox, rules and home folder are made for it and gone afterwards. Ends with
how to connect one's own. `ACTS` are its parts; each gets the agent's client and the owner.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

if TYPE_CHECKING:
    from collections.abc import Iterator

BESIDE = Path(sys.executable).with_name("mcp-proton")
WIDTH = 110
CONFIG = """
[accounts.demo]
kind = "bridge"
host = "{host}"
imap_port = {imap_port}
smtp_port = {smtp_port}
username = "{username}"
secret = "file:{secret}"
certificate = "{certificate}"

[clients.demo]
profile = "full"
"""
POLICY = """
preset = "custom"

[custom]
export = "allow"
organize = "ask"
send = "ask"
destroy = "deny"

[boundaries]
export_directories = ["{exports}"]
"""
PASSPHRASE = "only the owner knows this"


class Owner:
    """Who owns the mail: has a home folder, and types commands."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {**os.environ, "MCP_PROTON_HOME": str(home)}
        self.passphrase = private(home / "state" / "typed-passphrase", PASSPHRASE)

    def types(self, why: str, *words: str, secretly: tuple[str, ...] = ()) -> str:
        """Run a command and show it with what it prints; words typed `secretly` are not shown."""
        say(why)
        print(f"  $ mcp-proton {' '.join(words)}")
        done = subprocess.run(
            [BESIDE, *words, *secretly], env=self.environment, capture_output=True, text=True, check=False
        )
        print(textwrap.indent(done.stdout + done.stderr, "    "), end="")
        if done.returncode:
            raise SystemExit(f"the command ended with {done.returncode}")
        return done.stdout


async def main() -> int:
    """Run every act and return the exit code."""
    began = time.monotonic()
    say("mcp-proton: an agent reads mail under your rules", "=")
    with prepared() as owner:
        transport = StdioTransport(
            str(BESIDE), ["mcp", "--client", "demo"], env={"MCP_PROTON_HOME": str(owner.home)}, keep_alive=False
        )
        async with Client(transport, timeout=60) as client:
            for act in ACTS:
                await act(client, owner)
    say("Connect your own", "=")
    print(
        textwrap.dedent("""\
        1. your mail        .venv/bin/mcp-proton setup          finds Proton Mail Bridge, asks, checks, explains
        2. your agent       .venv/bin/mcp-proton clients add hermes     prints what to put into its configuration
        3. your rules       .venv/bin/mcp-proton policy show    what holds for whom, and where it comes from
        4. try by hand      .venv/bin/mcp-proton do mailboxes_overview --demo
    """)
    )
    print(f"(the demonstration took {time.monotonic() - began:.0f} s)")
    return 0


@contextmanager
def prepared() -> Iterator[Owner]:
    """A simulator of Proton Mail Bridge, and an owner whose agent may read and has to ask before it changes anything."""
    command = [str(BESIDE), "simulator", "run", "--messages", "140", "--json"]
    with (
        tempfile.TemporaryDirectory(prefix="mcp-proton-demo-") as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as simulator,
    ):
        try:
            assert simulator.stdout is not None
            told = json.loads(simulator.stdout.readline())
            home = Path(folder)
            secret = private(home / "state" / "secrets" / "demo", told["password"])
            exports = home / "exports"
            exports.mkdir()
            private(home / "config" / "config.toml", CONFIG.format(secret=secret, **told))
            private(home / "config" / "policy.toml", POLICY.format(exports=exports))
            owner = Owner(home)
            subprocess.run(
                [BESIDE, "passphrase", "--file", owner.passphrase],
                env=owner.environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            yield owner
        finally:
            simulator.terminate()


def private(path: Path, text: str) -> Path:
    """Write a file that nobody else may read."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


async def reading(client: Client[Any], _: Owner) -> None:
    """The main job, call by call."""
    tools = await client.list_tools()
    say(
        f"the agent sees {len(tools)} tools; the rules here: reading and export are allowed, changing asks, deleting is denied"
    )

    overview = await call(client, "What wants my attention?", "mailboxes_overview", limit=6)
    await call(
        client,
        "Find the mails with a file about an offer.",
        "messages_search",
        query="has:attachment (offer OR invoice OR report)",
        limit=5,
    )
    found = await call(
        client, "Where did that conversation come from?", "messages_search", query='subject:"Re:"', limit=3
    )
    start = (found["messages"] or overview["messages"])[0]["handle"]
    await call(client, "Read the whole conversation.", "threads_get", message=start, max_tokens=900)

    with_file = await call(client, "Which mail has a file?", "messages_search", query="has:attachment", limit=1)
    handle = with_file["messages"][0]["handle"]
    await call(client, "What is attached?", "attachments_list", message=handle)
    await call(
        client,
        "Keep it for later; its bytes never pass through the model.",
        "attachments_save",
        message=handle,
        index=1,
    )

    await call(
        client,
        "Put it into a system folder (the rules say no, and say why).",
        "attachments_save",
        message=handle,
        index=1,
        folder="/etc",
    )


async def approving(client: Client[Any], owner: Owner) -> None:
    """The agent asks, the owner answers in a shell of their own, the agent goes on, once."""
    unread = await call(
        client, "Which mail is unread?", "messages_search", query="is:unread", mailboxes=["inbox"], limit=1
    )
    handle = unread["messages"][0]["handle"]
    waiting = await call(client, "File it (the rules ask the owner first).", "messages_archive", messages=[handle])
    operation = waiting["operation_id"]
    await call(client, "Not answered yet: asking again changes nothing.", "operations_resume", operation_id=operation)
    owner.types(
        "The owner looks what it is, told from the plan and not in the agent's words,", "approvals", "show", operation
    )
    secretly = ("--passphrase-file", str(owner.passphrase))
    owner.types(
        "and says yes (with the passphrase, which no agent has).", "approvals", "approve", operation, secretly=secretly
    )
    await call(
        client, "Now the agent goes on; old handles became new ones.", "operations_resume", operation_id=operation
    )
    await call(client, "A second time nothing is done.", "operations_resume", operation_id=operation)
    await call(
        client, "Where is it, and how well is that known?", "operations_status", operation_id=operation, items=True
    )


async def answering(client: Client[Any], owner: Owner) -> None:
    """A reply: shown to the owner as it would leave, sent once, and known again afterwards."""
    found = await call(client, "Which mail wants an answer?", "messages_search", query="from:ferreira", limit=1)
    reply = {"message": found["messages"][0]["handle"], "text": "Thank you. Thursday suits us well."}
    waiting = await call(client, "Answer it (the rules ask the owner first).", "mail_reply", **reply)
    operation = waiting["operation_id"]
    owner.types("The owner sees exactly what would leave, to whom,", "approvals", "show", operation)
    secretly = ("--passphrase-file", str(owner.passphrase))
    owner.types("and says yes.", "approvals", "approve", operation, secretly=secretly)
    await call(client, "The agent goes on with it, once.", "operations_resume", operation_id=operation)
    await call(client, "A second time nothing is sent.", "operations_resume", operation_id=operation)
    await call(client, "The same once more: Bridge would say yes, and drop it without a word.", "mail_reply", **reply)
    owner.types("What left, to whom, and what is known of it:", "receipts", "show", operation)


ACTS = (reading, approving, answering)


async def call(client: Client[Any], why: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool, show the call and the answer, and stop the demonstration on anything unexpected."""
    say(why)
    print(f"  → {tool}({', '.join(f'{key}={json.dumps(value)}' for key, value in arguments.items())})")
    began = time.monotonic()
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    took = (time.monotonic() - began) * 1000
    answer: dict[str, Any] = result.structured_content or {}
    print(f"  ← {answer['status']} in {took:.0f} ms")
    if result.is_error:
        raise SystemExit(f"the call was not understood: {answer}")
    show(answer, "    ")
    return answer


def show(value: Any, indent: str) -> None:
    """Print an answer's fields, long ones cut for the screen."""
    for name, one in value.items():
        if name in ("status", "untrusted"):
            continue
        if isinstance(one, list) and one and isinstance(one[0], dict):
            print(f"{indent}{name}:")
            for row in one[:8]:
                shown = "  ".join(f"{key}={shorten(item)}" for key, item in row.items())
                print(f"{indent}  · {shown}"[:400])
        else:
            print(f"{indent}{name}: {shorten(one)}")


def shorten(value: Any) -> str:
    """One line of at most 160 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 160 else text[:157] + "…"


def say(text: str, rule: str = "") -> None:
    """Print a remark of the demonstration."""
    print()
    if rule:
        print(rule * WIDTH)
    print(text)
    if rule:
        print(rule * WIDTH)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
