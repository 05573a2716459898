"""The process that is hit: it asks, is approved, says that it is ready, and does what was approved when it is told to.

Run as a program it waits for orders, one a line, and does each in a fork of its own: a fork costs milliseconds where a new
process would cost seconds, and SIGKILL ends it as it ends any process.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.matrix.house import Address, House, opened


@dataclass(frozen=True)
class Order:
    """What a process is to do: an operation on messages of a mailbox, which the owner approves; `never` waits for ever."""

    operation: str
    arguments: dict[str, Any] = field(default_factory=dict)
    mailbox: str = ""
    keys: Sequence[str] = ()
    bystanders: Sequence[str] = ()


async def approved(house: House, order: Order) -> dict[str, Any]:
    """Ask for it, and have it approved. Beside it something waits that is never approved."""
    arguments = dict(order.arguments)
    handles = await house.handles(order.mailbox, order.keys) if order.keys else []
    if handles:
        arguments["messages"] = handles
    told = await house.ask(order.operation, **arguments)
    if told["status"] != "approval_pending":
        return {"refused": told}
    never = await house.ask("messages_archive", messages=await house.handles("INBOX", order.bystanders))
    assert never["status"] == "approval_pending", never
    await house.approve(told["operation_id"])
    return {"operation_id": told["operation_id"], "never": never["operation_id"], "handles": handles}


async def carried_out(store: Path, address: Address, order: Order, other: Address | None = None) -> None:
    """Ask in one life, do in the next, whose connection is new."""
    async with opened(store, replace(address, silence=90.0), other=other) as house:
        ready = await approved(house, order)
    tell(**ready)
    if "refused" in ready:
        return
    os.read(0, 1)
    async with opened(store, address, other=other) as house:
        tell(answer=await house.ask("operations_resume", operation_id=ready["operation_id"]))


def tell(**what: Any) -> None:
    """Say something to whoever gave the order."""
    os.write(1, json.dumps(what).encode() + b"\n")


class Nursery:
    """The program that forks, seen from outside. Its methods block."""

    def __init__(self) -> None:
        self._program = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self, store: Path, address: Address, order: Order, other: Address | None = None) -> int:
        """Start a process, and return its pid."""
        told = {"store": str(store), "address": asdict(address), "order": asdict(order)}
        self._say(json.dumps(told | {"other": other and asdict(other)}) + "\n")
        return int(self.hear()["pid"])

    def go(self) -> None:
        """Let it do what was approved."""
        self._say("g")

    def hear(self) -> dict[str, Any]:
        """What it says next; `ended` is the last."""
        assert self._program.stdout is not None
        line = self._program.stdout.readline()
        assert line, "the program is gone"
        told: dict[str, Any] = json.loads(line)
        return told

    def close(self) -> None:
        """End the program."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait(30)
        self._program.stdout.close()

    def _say(self, text: str) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(text.encode())
        self._program.stdin.flush()


def _line() -> bytes:
    line = b""
    while octet := os.read(0, 1):
        if octet == b"\n":
            break
        line += octet
    return line


def _forked(order: dict[str, Any]) -> None:
    pid = os.fork()
    if pid:
        _, status = os.waitpid(pid, 0)
        tell(ended=status)
        return
    tell(pid=os.getpid())
    code = 0
    try:
        other = Address(**order["other"]) if order["other"] else None
        asyncio.run(carried_out(Path(order["store"]), Address(**order["address"]), Order(**order["order"]), other))
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)


if __name__ == "__main__":
    while line := _line():
        _forked(json.loads(line))
