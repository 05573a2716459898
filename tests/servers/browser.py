"""A real browser without a window, driven by WebDriver; its passkeys are made by a virtual authenticator (WebAuthn §11)."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE = 50.0
_QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
_HEADLESS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Chromium:
    """One browser. Whatever a page takes, looking for something on it waits."""

    def __init__(self, driver: str, profile: Path) -> None:
        self._http = httpx2.Client(base_url=driver, timeout=PATIENCE, trust_env=False)
        options = {"args": [*_QUIET, *_HEADLESS, f"--user-data-dir={profile}"], "binary": shutil.which("chromium")}
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "timeouts": {"implicit": int(PATIENCE * 1000)},
        }
        answered = self._http.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
        assert answered.status_code == 200, answered.text
        self._session = f"/session/{answered.json()['value']['sessionId']}"

    def authenticator(self) -> None:
        """Give it a device that keeps passkeys and knows its owner."""
        told = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
        self._do("webauthn/authenticator", {**told, "isUserVerified": True})

    def open(self, address: str) -> None:
        self._do("url", {"url": address})

    def type(self, selector: str, text: str) -> None:
        self._do(f"element/{self._find(selector)}/value", {"text": text})

    def click(self, selector: str) -> None:
        self._do(f"element/{self._find(selector)}/click", {})

    @property
    def address(self) -> str:
        return str(self._ask("url"))

    @property
    def source(self) -> str:
        return str(self._ask("source"))

    def href(self, selector: str) -> str:
        """Return where a link leads."""
        return str(self._ask(f"element/{self._find(selector)}/property/href"))

    def sees(self, text: str) -> None:
        """Wait for a text on the page."""
        until = time.monotonic() + PATIENCE
        while text not in self.source:
            assert time.monotonic() < until, self.source
            time.sleep(0.1)

    def close(self) -> None:
        self._http.delete(self._session)
        self._http.close()

    def _find(self, selector: str) -> str:
        return str(self._do("element", {"using": "css selector", "value": selector})[_ELEMENT])

    def _do(self, what: str, told: dict[str, Any]) -> Any:
        answered = self._http.post(f"{self._session}/{what}", json=told)
        assert answered.status_code == 200, answered.text
        return answered.json()["value"]

    def _ask(self, what: str) -> Any:
        return self._http.get(f"{self._session}/{what}").json()["value"]


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Chromium]:
    """A browser of a test's own; where there is none, tests that ask for it are left out."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [shutil.which("chromedriver") or "chromedriver", f"--port={port}"]
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    browser = None
    try:
        _ready(port)
        browser = Chromium(f"http://127.0.0.1:{port}", tmp_path / "profile")
        yield browser
    finally:
        if browser is not None:
            browser.close()
        driver.terminate()
        driver.wait(PATIENCE)


def _ready(port: int) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return
