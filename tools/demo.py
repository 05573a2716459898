"""The demonstration: a real MCP client talks to `mcp-proton mcp --demo` over stdio, and a person can follow every call.

No question is asked, nothing is configured: the mailbox behind it is a simulator's. Ends with how to connect one's own.
"""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

BESIDE = Path(sys.executable).with_name("mcp-proton")
WIDTH = 110


async def main() -> int:
    """Run the session and return the exit code."""
    began = time.monotonic()
    say("mcp-proton: an agent reads mail under your rules", "=")
    transport = StdioTransport(str(BESIDE), ["mcp", "--demo", "--profile", "full"], keep_alive=False)
    async with Client(transport, timeout=60) as client:
        await session(client)
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
