"""`mcp-proton simulator`: a stand-in for Proton Mail Bridge, to try things on and to hold against recordings."""

from __future__ import annotations

import asyncio
from pathlib import Path  # noqa: TC003  # cyclopts reads annotations
from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.simulator import replay as play

from .exits import Exit
from .printing import AsJson, Printer

app = App(name="simulator", help="Run a stand-in for Proton Mail Bridge, or replay recordings against it.")


@app.command
async def run(
    *,
    messages: Annotated[int, Parameter(help="how many messages the mailbox holds")] = 200,
    port: Annotated[int, Parameter(help="IMAP port on 127.0.0.1; 0 takes a free one")] = 0,
    seed: Annotated[int, Parameter(help="another number makes another mailbox")] = 1,
    json: AsJson = False,
) -> Exit:
    """Run it until Ctrl-C. It says how to connect; everything in it is made up."""
    printer = Printer(as_json=json)
    async with bootstrap.simulated(messages=messages, port=port, seed=seed) as simulator:
        printer.answer(
            {
                "status": "ok",
                "host": simulator.host,
                "imap_port": simulator.imap_port,
                "security": "starttls",
                "username": simulator.username,
                "password": simulator.password,
                "certificate": bootstrap.fingerprint(simulator.certificate_pem),
            }
        )
        printer.remark("running; Ctrl-C ends it")
        await asyncio.Event().wait()
    return Exit.DONE


@app.command
async def replay(files: list[Path], /) -> Exit:
    """Play recordings of a real Bridge against a fresh simulator and print each difference with file and step."""
    printer = Printer()
    return Exit.ATTENTION if await play(files, printer.line) else Exit.DONE
