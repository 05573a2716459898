"""`mcp-proton serve` as a process of its own; ended by its own id at the end, whatever happened."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

import httpx2

from tests.canaries import hearing

ROOT = Path(__file__).parents[3]
PATIENCE = 50.0
MEASURED = {"MCP_PROTON_METRICS_LISTEN": "127.0.0.1:0"}


class Service:
    """A running service. `url` is where it is reached, `demo_token` what the demonstration said its token is."""

    def __init__(self, *words: str, home: Path | None = None, more: dict[str, str] | None = None) -> None:
        self._words = words
        self.home = home
        self._more = more or {}
        self.lines: list[str] = []
        self.url = ""
        self.demo_token = ""

    def __enter__(self) -> Self:
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), **MEASURED, **self._more}
        if self.home is not None:
            environment["MCP_PROTON_HOME"] = str(self.home)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mcp_proton", "serve", *self._words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._heard: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        try:
            if "--demo" in self._words:
                self.demo_token = self.said(r"client token is (\S+)")
            self.url = self.said(r'serving.*where"?[=:]"?([^\s"]+)')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self._listen_to_metrics()
            self.process.kill()
        self.ended()

    def said(self, pattern: str) -> str:
        """Wait for a line on standard error and return what the pattern's group found in it."""
        while (line := self._heard.get(timeout=PATIENCE)) is not None:
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"it ended: {self.output}")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self._listen_to_metrics()
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE)
        self._thread.join(PATIENCE)
        return code

    @property
    def output(self) -> str:
        return "".join(self.lines)

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].partition("/")[0])

    def measuring(self) -> str:
        """Where its metrics are."""
        (where,) = re.findall(r'measuring.*where"?[=:]"?([^\s"]+)', self.output)
        return where

    def _listen_to_metrics(self) -> None:
        """Nothing of mail may be in them, whichever test it is."""
        if "measuring" in self.output:
            with suppress(httpx2.HTTPError), httpx2.Client(trust_env=False, timeout=5) as plain:
                hearing.listen(plain.get(self.measuring()).text, "its metrics")

    def _listen(self) -> None:
        with self.process.stderr as stream:
            for line in stream:
                self.lines.append(line)
                self._heard.put(line)
        self._heard.put(None)
