"""The pages in a real browser: a passkey is made and used, and the browser ends where the program waits for it."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from .inside import Inside
from .signing import Program
from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.browser import Chromium
    from tests.servers.oidc_server import Oidc
    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process


class Waiting:
    """A program that waits on this machine for its answer, as a real one does."""

    def __init__(self) -> None:
        self.came: list[str] = []
        waiting = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path.startswith("/callback"):
                    waiting.came.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.end_headers()
                self.wfile.write(b"the program has its answer")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)  # a browser connects ahead, and says nothing
        self.redirect = f"http://127.0.0.1:{self._server.server_port}/callback"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Waiting:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self) -> str:
        return f"{self.redirect}{self.came[0].removeprefix('/callback')}"


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    with Waiting() as one:
        yield one


def test_a_passkey_is_made_and_lets_a_program_in(owner: Owner, chromium: Chromium, waiting: Waiting) -> None:
    """A-32: what the owner ticked away is not given."""
    owner.write_config(f'{owner.folders.config_file.read_text()}\n[sign_in]\nby = "passkey"\n')
    with Inside(owner.home) as service, Program(f"http://localhost:{service.port}", waiting.redirect) as program:
        chromium.authenticator()
        chromium.open(f"http://127.0.0.1:{service.port}/sign-in/enrol")
        assert chromium.address.startswith("http://localhost:")
        chromium.type("#code", "aaaa-bbbb-cccc-dddd")
        chromium.click("#enrol")
        chromium.sees("the code is not good")
        chromium.open(f"{program.issuer}/sign-in/enrol")
        chromium.type("#code", owner.json("passkeys", "add")["code"])
        chromium.click("#enrol")
        chromium.sees("The passkey was added.")
        chromium.open(program.address())
        chromium.click('input[value="mail.send"]')
        chromium.click("#let-in")
        chromium.sees("the program has its answer")
        given = program.exchange(program.code(waiting.answer())).json()
        assert given["scope"] == "mail.read mail.write"
        with Raw(service.url, given["access_token"]) as raw:
            assert raw.call("messages_list", limit=1).status_code == 200
        waiting.came.clear()
        chromium.open(program.address())
        chromium.click("#refuse")
        chromium.sees("the program has its answer")
        assert "error=access_denied" in waiting.answer()


def test_a_program_that_a_scheme_opens_can_be_opened_by_hand(owner: Owner, chromium: Chromium) -> None:
    """J-93: here nothing opens the scheme, and the page still has what the program waits for."""
    desktop = "claude://claude.ai/mcp/callback"
    owner.write_config(f'{owner.folders.config_file.read_text()}\n[sign_in]\nby = "passkey"\n')
    with Inside(owner.home) as service, Program(f"http://localhost:{service.port}", desktop) as program:
        program.client_id = program.http.post("/register", json={"redirect_uris": [desktop]}).json()["client_id"]
        chromium.authenticator()
        chromium.open(f"{program.issuer}/sign-in/enrol")
        chromium.type("#code", owner.json("passkeys", "add")["code"])
        chromium.click("#enrol")
        chromium.sees("The passkey was added.")
        chromium.open(program.address())
        chromium.sees("Claude (claude:)")
        chromium.click("#let-in")
        chromium.sees("The program has its answer once it opens.")
        given = program.exchange(program.code(chromium.href("#told a"))).json()
        with Raw(service.url, given["access_token"]) as raw:
            assert raw.call("messages_list", limit=1).status_code == 200


def test_a_person_is_asked_then_signs_in_at_the_provider(
    owner: Owner, oidc: Oidc, chromium: Chromium, waiting: Waiting
) -> None:
    """J-85: through our page, the provider's, and back."""
    text = owner.folders.config_file.read_text().replace(
        "[clients.hermes]\n", '[clients.hermes]\nsubjects = ["alice"]\n'
    )
    keys = f'issuer = "{oidc.issuer}"\njwks_url = "{oidc.issuer}/jwks"\n'
    owner.write_config(f'{text}\n[oauth]\n{keys}[sign_in]\nby = "provider"\n')
    with Inside(owner.home) as service, Program(f"http://localhost:{service.port}", waiting.redirect) as program:
        chromium.open(program.address())
        chromium.sees("Go on only if you started this yourself")
        chromium.click('button[value="yes"]')
        chromium.type('input[name="login"]', "alice")
        chromium.type('input[name="password"]', "x")
        chromium.click('button[type="submit"]')
        chromium.sees("Authorize")
        chromium.click('button[type="submit"]')
        chromium.sees("the program has its answer")
        given = program.exchange(program.code(waiting.answer())).json()
        with Raw(service.url, given["access_token"]) as raw:
            assert raw.call("messages_list", limit=1).status_code == 200
