"""`mcp-proton simulator`: a stand-in for Proton Mail Bridge, to try things on and to hold against recordings."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from mcp_proton import bootstrap
from mcp_proton.simulator import replay as play

from .exits import Exit
from .printing import AsJson, Printer

app = App(
    name="simulator",
    help_epilogue="""Examples:
  mcp-proton simulator run --messages 5000 --port 11143
  mcp-proton simulator replay tests/simulator/recordings/*.yaml""",
)


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
        sys.stdout.flush()
        printer.remark("running; Ctrl-C ends it")
        await _until_told_to_end()
    return Exit.DONE


@app.command
async def replay(
    files: Annotated[list[Path], Parameter(help="recordings of conversations with a real Bridge", negative="")],
    /,
    *,
    json: AsJson = False,
) -> Exit:
    """Play recordings against a fresh simulator and print each difference with file and step; exits with 1 if any."""
    for file in files:
        file.stat()  # a recording that is not there is a slip of the pen, no difference
    printer = Printer(as_json=json)
    differences: list[str] = []

    def report(difference: str) -> None:
        differences.append(difference)
        if not json:
            printer.line(difference)

    differs = bool(await play(files, report))
    if json:
        printer.json({"status": "ok", "recordings": len(files), "same": not differs, "differences": differences})
    else:
        printer.remark(f"{len(files)} played, {len(differences) or 'no'} differences")
    return Exit.ATTENTION if differs else Exit.DONE


async def _until_told_to_end() -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # no such handlers on Windows, where Ctrl-C interrupts
            loop.add_signal_handler(one, told.set)
    await told.wait()
