"""A JMAP server with several users, each let in by a token whose `sub` is theirs, and how they ask a service in front of it."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

from mcp_proton.config import folders
from tests.servers.jmap import JmapServer
from tests.surfaces.cli.lab import Elsewhere

from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.servers.jmap.store import Store

    from .issuer import Issuer
    from .process import Service

AUDIENCE = "https://mail.example.org/mcp"
PEOPLE = ("anna", "bob")
_KNOWN = (*PEOPLE, "carl")
"""whom the mail server knows, the service or not"""


class Household(JmapServer):
    """One door, a store for each subject. `shown` are the tokens that came, `bad` the subjects it lets in no longer."""

    def __init__(self, subjects: Sequence[str]) -> None:
        super().__init__()
        self.homes = {one: JmapServer(account=f"acc-{one}") for one in subjects}
        self.shown: list[str] = []
        self.bad: set[str] = set()

    async def _answer(
        self, verb: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes] | None:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.shown.append(token)
        subject = _subject(token)
        if subject in self.bad or subject not in self.homes:
            return 401, {}, b""
        home = self.homes[subject]
        home.token = token
        return await home._answer(verb, path, headers, body)


class InThread(Elsewhere):
    """The same behind a real port."""

    def __init__(self, *subjects: str) -> None:
        super().__init__()
        self.server = Household(subjects)

    async def start(self) -> None:
        await self._stack.enter_async_context(self.server)

    def store(self, name: str) -> Store:
        """Return a person's own mail."""
        return self.server.homes[f"sub-{name}"].store


def living() -> Iterator[InThread]:
    """Start the server with a letter for each person."""
    with InThread(*(f"sub-{name}" for name in _KNOWN)) as running:
        for name in _KNOWN:
            store = running.store(name)
            store.identities = [{"id": "id1", "name": name.title(), "email": f"{name}@example.org"}]
            raw = f"From: x@example.net\nTo: {name}@example.org\nSubject: for {name} alone\n\nSecret of {name}.\n"
            store.add(raw.encode(), store.by_role("inbox").id)
        yield running


def moved_in(home: Path, config: str, issuer: Issuer, policy: str) -> None:
    """Write the settings of a service that accepts the issuer's tokens."""
    places = folders.Folders.under(home)
    text = f'{config}\n[oauth]\nissuer = "{issuer.url}"\naudience = "{AUDIENCE}"\njwks_url = "{issuer.url}/jwks"\n'
    for file, content in ((places.config_file, text), (places.policy_file, policy)):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o600)


def token(issuer: Issuer, name: str, **more: Any) -> str:
    """Return a token of a person's."""
    return issuer.token(AUDIENCE, sub=f"sub-{name}", **more)


def asked(service: Service, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool as whoever has the token; return the structured answer."""
    with Raw(service.url, token) as raw:
        answered = raw.call(tool, **arguments)
    assert answered.status_code == 200, answered.text
    found = re.search(r"\{.*\}", answered.text, re.DOTALL)
    assert found is not None
    content = json.loads(found[0])["result"]
    told = content.get("structuredContent") or json.loads(content["content"][0]["text"])
    assert isinstance(told, dict)
    return told


def _subject(token: str) -> str:
    try:
        body = token.split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))["sub"])
    except (ValueError, LookupError):
        return ""
