"""The demonstration: a real MCP client talks to `mcp-proton mcp` over stdio, its owner answers at the command line, and a
person can follow every call.

No question is asked: the mailbox behind it is a simulator's, the configuration is made and gone again. Ends with how to
connect one's own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import textwrap
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from mcp_proton import bootstrap
from mcp_proton.config import editing
from mcp_proton.config.folders import Folders

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.simulator import Simulator

BESIDE = Path(sys.executable).with_name("mcp-proton")
WIDTH = 110
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


@dataclass(frozen=True)
class Desk:
    """A mailbox of the simulator, and an owner who has let an agent in."""

    simulator: Simulator
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """What both the agent's server and the owner's commands are started with."""
        return {**os.environ, "MCP_PROTON_HOME": str(self.home)}

    async def owner(self, *words: str) -> str:
        """Run a command of the owner's and show what it says."""
        shown = [word if "/" not in word else "…" for word in words]
        print(f"  $ mcp-proton {' '.join(shown)}")
        command = await asyncio.create_subprocess_exec(
            str(BESIDE), *words, env=self.environment, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
        said = (await command.communicate())[0].decode()
        for line in said.splitlines():
            print(f"    {line}"[:WIDTH])
        if command.returncode:
            raise SystemExit("the owner's command failed")
        return said


@asynccontextmanager
async def furnished() -> AsyncIterator[Desk]:
    """Make a mailbox, an account that is on it, an agent called `demo`, and the owner's passphrase."""
    with tempfile.TemporaryDirectory(prefix="mcp-proton-demo-") as folder:
        home, exports = Path(folder) / "home", Path(folder) / "exports"
        exports.mkdir()
        async with bootstrap.simulated(messages=bootstrap.DEMO_MESSAGES) as simulator:
            found = Folders.under(home)
            secret = found.state / "secrets" / "personal"
            for path, text in (
                (secret, f"{simulator.password}\n"),
                (found.policy_file, POLICY.format(exports=exports)),
                (Path(folder) / "passphrase", "a made-up passphrase\n"),
            ):
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.write_text(text)
                path.chmod(0o600)
            account: dict[str, editing.Value] = {
                "kind": "bridge",
                "imap_port": simulator.imap_port,
                "smtp_port": simulator.smtp_port,
                "username": simulator.username,
                "secret": f"file:{secret}",
                "certificate": bootstrap.fingerprint(simulator.certificate_pem),
            }
            editing.add_account(found.config_file, "personal", account)
            editing.add_client(found.config_file, "demo", {"profile": "full"})
            yield Desk(simulator, home)


async def main() -> int:
    """Run the session and return the exit code."""
    began = time.monotonic()
    say("mcp-proton: an agent reads and answers mail under your rules", "=")
    async with furnished() as desk:
        transport = StdioTransport(str(BESIDE), ["mcp", "--client", "demo"], env=desk.environment, keep_alive=False)
        async with Client(transport, timeout=60) as client:
            await session(client)
            await correspondence(client, desk)
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


async def session(client: Client[Any]) -> None:
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
    await call(
        client,
        "Mark a mail as read (the rules ask the owner first).",
        "messages_get",
        message=handle,
        view="summary",
        mark_read=True,
    )


async def correspondence(client: Client[Any], desk: Desk) -> None:
    """A reply, through the owner's approval."""
    say("Now the agent answers a mail. The rules ask the owner, so nothing leaves yet.", "-")
    found = await call(client, "Which mail is it about?", "messages_search", query="from:ferreira", limit=1)
    waiting = await call(
        client,
        "Answer it.",
        "mail_reply",
        message=found["messages"][0]["handle"],
        text="Thank you. Thursday suits us well.",
    )
    operation = waiting["operation_id"]
    say("The owner looks at exactly what would leave, and says yes. (Here by a passphrase; at a terminal by y.)")
    passphrase = str(desk.home.parent / "passphrase")
    await desk.owner("passphrase", "--file", passphrase)
    await desk.owner("approvals", "show", operation)
    await desk.owner("approvals", "approve", operation, "--passphrase-file", passphrase)
    await call(client, "Go on with it, once.", "operations_resume", operation_id=operation)
    await call(client, "And again, as a confused agent would.", "operations_resume", operation_id=operation)
    desk.simulator.release_events()  # Bridge hears of it, which takes it half a minute otherwise
    await asyncio.sleep(1.5)
    await call(client, "Where is it?", "operations_status", operation_id=operation)
    await call(
        client,
        "The same once more: Bridge would say yes and drop it without a word.",
        "mail_reply",
        message=found["messages"][0]["handle"],
        text="Thank you. Thursday suits us well.",
    )
    left = desk.simulator.sent
    say(f"What left: {len(left)} mail, to {left[0].recipient}, in the thread of {left[0].header.get('In-Reply-To')}")
    await desk.owner("receipts", "show", operation)


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
