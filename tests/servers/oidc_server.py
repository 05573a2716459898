"""The OpenID provider, running: a process of its own, ended with its standard input."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx2
import pytest

from tests.clients.install import node

from . import oidc_install

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 50


class Oidc:
    """A provider at `issuer`."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def log_in(self, browser: httpx2.Client, address: str, *, until: str, login: str = "alice") -> str:
        """Go through the provider's pages as a person, who logs in and consents. Return where they lead in the end."""
        for _ in range(20):
            answered = browser.get(address)
            if answered.status_code in (302, 303):
                address = urljoin(address, answered.headers["location"])
                if address.startswith(until):
                    return address
                continue
            assert answered.status_code == 200, (address, answered.status_code, answered.text[:500])
            prompt = "login" if 'name="login"' in answered.text else "consent"
            fields = {"prompt": prompt, **({"login": login, "password": "x"} if prompt == "login" else {})}
            posted = browser.post(str(answered.url), data=fields)
            address = urljoin(address, posted.headers["location"])
        raise AssertionError("the provider's pages lead nowhere")


@pytest.fixture(scope="session")
def oidc() -> Iterator[Oidc]:
    """A provider."""
    command = [node(), oidc_install.install()]
    running = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert running.stdout is not None
    assert running.stdin is not None
    try:
        word, _, issuer = running.stdout.readline().strip().partition(" ")
        assert word == "ready"
        yield Oidc(issuer)
    finally:
        running.stdin.close()
        running.stdout.close()
        try:
            running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait(PATIENCE)
