"""A server as a process of its own, spoken to in raw JSON-RPC lines."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[3]
PATIENCE = 30.0


class Process:
    """Speaks and listens with a time limit; ended by its own id at the end, whatever happened."""

    def __init__(self, *words: str, env: dict[str, str] | None = None, cwd: Path = ROOT) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.surfaces.mcp.child", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(env or {})},
        )
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self.noise: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._overhear, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass

    def _listen(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _overhear(self) -> None:
        self.noise.extend(self._process.stderr)

    @property
    def stderr(self) -> str:
        return b"".join(self.noise).decode()

    def send(self, octets: bytes) -> None:
        self._process.stdin.write(octets)
        self._process.stdin.flush()

    def tell(self, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def begin(self, method: str, **params: Any) -> int:
        self._number += 1
        self.send(
            json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}).encode() + b"\n"
        )
        return self._number

    def heard(self) -> dict[str, Any]:
        """The next line. INVARIANT: every line on standard output is a JSON-RPC message."""
        line = self._lines.get(timeout=PATIENCE)
        assert line is not None, f"it ended: {self.stderr}"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self.begin(method, **params)
        while (message := self.heard()).get("id") != number:
            pass
        return message

    def shake(self, version: str = "2025-06-18") -> dict[str, Any]:
        info = {"name": "raw", "version": "1"}
        answered = self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo=info)
        self.tell("notifications/initialized")
        return answered["result"]

    def close_input(self) -> None:
        self._process.stdin.close()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def ended(self) -> int:
        """Wait for the exit code."""
        code = self._process.wait(PATIENCE)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code
