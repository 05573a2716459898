"""`mcp-proton simulator`: a stand-in for Proton Mail Bridge, to try things on and to hold against recordings."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter, validators

from mcp_proton import bootstrap
from mcp_proton.admin.exits import Exit
from mcp_proton.admin.printing import AsJson, Printer
from mcp_proton.simulator import replay as play

app = App(
    name="simulator",
    help_epilogue="""Examples:
  mcp-proton simulator run --messages 5000 --port 11143
  mcp-proton simulator replay tests/simulator/recordings/*.yaml""",
)

_UP_TO_100_000 = validators.Number(gte=0, lte=100_000)
_A_PORT = validators.Number(gte=0, lte=65_535)


@app.command
async def run(
    *,
    messages: Annotated[
        int, Parameter(help="how many messages the mailbox holds", validator=validators.Number(gte=0, lte=100_000))
    ] = 200,
    port: Annotated[
        int,
        Parameter(help="IMAP port on 127.0.0.1; 0 takes a free one", validator=validators.Number(gte=0, lte=65_535)),
    ] = 0,
    seed: Annotated[int, Parameter(help="another number makes another mailbox")] = 1,
    json: AsJson = False,
) -> Exit:
    """Run it until Ctrl-C. It says how to connect; everything in it is made up."""
    printer, ended = Printer(as_json=json), _told_to_end()
    async with bootstrap.simulated(messages=messages, port=port, seed=seed) as simulator:
        printer.answer(
            {
                "status": "ok",
                "host": simulator.host,
                "imap_port": simulator.imap_port,
                "smtp_port": simulator.smtp_port,
                "security": "starttls",
                "username": simulator.username,
                "password": simulator.password,
                "certificate": bootstrap.fingerprint(simulator.certificate_pem),
            }
        )
        sys.stdout.flush()
        printer.remark("running; Ctrl-C ends it")
        await ended.wait()
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


def _told_to_end() -> asyncio.Event:
    """Return what is set by Ctrl-C and by a stop: the way to end it is no interruption."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # no such handlers on Windows, where Ctrl-C interrupts
            loop.add_signal_handler(one, told.set)
    return told
