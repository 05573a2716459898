"""Signing in, from both sides: a program that asks for a token, and a person in a browser who lets it in."""

from __future__ import annotations

import hashlib
import html
import json
import re
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from .authenticator import Authenticator, text

if TYPE_CHECKING:
    from collections.abc import Callable

REDIRECT = "http://127.0.0.1:45678/callback"


class Person:
    """The owner at a browser, with a passkey."""

    def __init__(self, issuer: str, authenticator: Authenticator | None = None) -> None:
        self.issuer = issuer
        self.browser = httpx2.Client(base_url=issuer, timeout=50, trust_env=False, headers={"Origin": issuer})
        self.authenticator = authenticator or Authenticator(issuer)

    def __enter__(self) -> Person:
        return self

    def __exit__(self, *_: object) -> None:
        self.browser.close()

    def add_passkey(self, code: str, **changed: Any) -> httpx2.Response:
        """Go through the page that adds a passkey; return the last answer."""
        assert self.browser.get("/sign-in/enrol").status_code == 200
        begun = self.browser.post("/sign-in/enrol/begin", json={"code": code})
        if begun.status_code != 200:
            return begun
        made = self.authenticator.make(begun.json()["options"])
        told = {"flow": begun.json()["flow"], "code": code, "name": "test", "credential": made, **changed}
        return self.browser.post("/sign-in/enrol", json=told)

    def open(self, address: str) -> Page:
        """Open the page that a program sent the browser to."""
        answered = self.browser.get(address)
        return Page(answered)

    def let_in(self, address: str, client: str = "hermes", scopes: list[str] | None = None) -> httpx2.Response:
        """Say yes with the passkey."""
        page = self.open(address)
        return self.answer(page, client=client, scopes=page.scopes if scopes is None else scopes)

    def answer(self, page: Page, **changed: Any) -> httpx2.Response:
        """Send an answer from the page."""
        told = {"flow": page.flow, "client": "hermes", "scopes": page.scopes}
        if "credential" not in changed:
            changed["credential"] = self.authenticator.use(page.options)
        return self.browser.post("/sign-in/answer", json={**told, **changed})


class Page:
    """The page on which the owner decides."""

    def __init__(self, answered: httpx2.Response) -> None:
        self.answered = answered
        body = answered.text
        self.flow = self._found(r'data-flow="([^"]*)"', body) or self._found(r'name="flow" value="([^"]*)"', body)
        options = self._found(r'data-options="([^"]*)"', body)
        self.options: dict[str, Any] = json.loads(options) if options else {}
        self.scopes = re.findall(r'name="scope" value="([^"]*)"', body)
        self.clients = re.findall(r"<option>([^<]*)</option>", body)

    def _found(self, pattern: str, body: str) -> str:
        found = re.search(pattern, body)
        return html.unescape(found[1]) if found else ""


class Program:
    """A program written by hand: what it asks for, and how it exchanges what it gets."""

    def __init__(self, issuer: str, redirect: str = REDIRECT, client_id: str = "mcp-proton") -> None:
        self.issuer = issuer
        self.redirect = redirect
        self.client_id = client_id
        self.verifier = secrets.token_urlsafe(48)
        self.state = secrets.token_urlsafe(16)
        self.http = httpx2.Client(base_url=issuer, timeout=50, trust_env=False)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def address(self, **changed: Any) -> str:
        """Where it sends the browser."""
        fields = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect,
            "code_challenge": text(hashlib.sha256(self.verifier.encode()).digest()),
            "code_challenge_method": "S256",
            "state": self.state,
            "scope": "mail.read mail.write mail.send",
            **changed,
        }
        return f"{self.issuer}/authorize?{urlencode({k: v for k, v in fields.items() if v is not None})}"

    def code(self, address: str) -> str:
        """Read the code where the browser was sent back to."""
        answered = parse_qs(urlsplit(address).query)
        assert address.startswith(self.redirect), address
        assert answered["state"] == [self.state]
        return answered["code"][0]

    def exchange(self, code: str, **changed: Any) -> httpx2.Response:
        """Ask for tokens with a code."""
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect,
            "client_id": self.client_id,
            "code_verifier": self.verifier,
            **changed,
        }
        return self.http.post("/token", data={k: v for k, v in fields.items() if v is not None})

    def renew(self, refresh: str, **changed: Any) -> httpx2.Response:
        """Ask for tokens with a refresh token."""
        fields = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": self.client_id, **changed}
        return self.http.post("/token", data={k: v for k, v in fields.items() if v is not None})


class Storage(TokenStorage):
    """What the official client keeps, and what a browser brought back to it."""

    answer = ""
    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


async def official_client(url: str, decide: Callable[[str], str]) -> Storage:
    """Let the official SDK's client find its own way in, list the tools, and return what it kept.

    `decide` is the person at the browser: from the address that the program sends it to, to where the browser is sent back.
    """
    kept = Storage()

    async def sent_to(address: str) -> None:
        kept.answer = decide(address)

    async def came_back() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(kept.answer).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0])

    metadata = OAuthClientMetadata.model_validate({"redirect_uris": [REDIRECT], "client_name": "official"})
    auth = OAuthClientProvider(url, metadata, kept, sent_to, came_back)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=50, trust_env=False) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as client,
    ):
        await client.initialize()
        assert (await client.list_tools()).tools
    assert kept.client is not None
    assert kept.client.client_id == "mcp-proton"
    assert kept.tokens is not None
    assert kept.tokens.refresh_token
    return kept
