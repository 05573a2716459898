"""Bearers: who a request comes from, by the token in its `Authorization` header (RFC 6750) and by nothing else (P-41)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fastmcp.server.dependencies import get_http_request

from mcp_proton.bootstrap.callers import Shown
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.scopes import READ, effects_of
from mcp_proton.domain.tokens import PREFIX, digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from mcp_proton.bootstrap import Running
    from mcp_proton.config.oauth import OAuth
    from mcp_proton.domain.effects import Effect
    from mcp_proton.mcp.http.signing_in.access import AccessTokens
    from mcp_proton.mcp.http.trusted import Trusted
    from mcp_proton.mcp.oauth.claims import Said
    from mcp_proton.mcp.oauth.verifying import Verifier


@dataclass(frozen=True, slots=True)
class Bearer:
    """An authenticated client: the owner's label for it, what vouches for it (the public half of its token), and the first
    16 digits of that token's hash. `effects` are all that its scopes leave open; None: it has none, the rules alone decide.
    `shown` is an authorization server's token, for the accounts that are reached with it. It, or
    `sign_in`, is what still vouches for a call once a token that is good for minutes is over.
    `expires` is when the token ends (seconds since 1970; None: never by itself), `said` what an authorization server's says.
    """

    client: str
    subject: str
    hash: str
    effects: frozenset[Effect] | None = None
    shown: Shown | None = None
    sign_in: str | None = None
    expires: float | None = None
    said: Said | None = None


@dataclass(frozen=True, slots=True)
class Stranger:
    """Nobody we know. `presented`: a token was shown, and it is not good (any more). `lacking`: it is, but it does not say
    these scopes. `metadata`: where a client learns which authorization server to ask (RFC 9728).
    """

    presented: bool
    lacking: tuple[str, ...] = ()
    metadata: str | None = None

    @property
    def status(self) -> int:
        """401, or 403 for a token that is good and not enough."""
        return 403 if self.lacking else 401

    @property
    def event(self) -> str:
        """The word for it."""
        return "insufficient_scope" if self.lacking else "invalid_token" if self.presented else "no_token"

    @property
    def told(self) -> str:
        """The sentence for it."""
        if self.lacking:
            return "the token does not allow this"
        return "the token is not valid (any more)" if self.presented else "show a client token"

    @property
    def challenge(self) -> str:
        """The `WWW-Authenticate` header: an error is named only where a token was shown (RFC 6750 §3.1, J-87)."""
        parts = ['realm="mcp-proton"']
        if self.presented:
            parts += [f'error="{self.event}"', f'error_description="{self.told}"']
        if self.lacking:
            parts.append(f'scope="{" ".join(self.lacking)}"')
        if self.metadata:
            parts.append(f'resource_metadata="{self.metadata}"')
        return f"Bearer {', '.join(parts)}"


def present() -> Bearer | None:
    """Return who sent the request that is being served; None outside of one."""
    try:
        found = get_http_request().scope.get("state", {}).get("bearer")
    except RuntimeError:
        return None
    return found if isinstance(found, Bearer) else None


def left_open() -> frozenset[Effect] | None:
    """Return what the request that is being served may do at most, by its own token. Outside of one: nothing."""
    bearer = present()
    return frozenset() if bearer is None else bearer.effects


def shown_now() -> Shown | None:
    """Return the authorization server's token that the request being served showed."""
    bearer = present()
    return None if bearer is None else bearer.shown


class Bearers:
    """Recognises clients. What the owner revokes, removes or replaces is a stranger from the next look on (P-97)."""

    def __init__(self, running: Running, trusted: Trusted | None = None) -> None:
        self._running = running
        running.callers.asking = shown_now
        self._trusted = trusted

    async def recognise(self, headers: Iterable[tuple[bytes, bytes]]) -> Bearer | Stranger:
        """Return who sent these headers. Raises `Unavailable` when the store cannot be asked."""
        headers = list(headers)
        found = await self._shown([value for name, value in headers if name == b"authorization"])
        if isinstance(found, Bearer) and not await self._is_let_in(found.client):
            found = Stranger(presented=True)
        if isinstance(found, Stranger) and self._trusted is not None:
            return replace(found, metadata=self._trusted.location(headers))
        return found

    async def still_good(self, headers: Iterable[tuple[bytes, bytes]], who: Bearer | None) -> bool:
        """Whether these headers are anybody's still. With `who`, what began with a good token may outlast it."""
        try:
            found = await self.recognise(headers)
            return isinstance(found, Bearer) or (who is not None and await self.may_finish(who))
        except MailError:
            return True  # the store is busy: nobody said no

    def vouching(self) -> Callable[[], Awaitable[bool]]:
        """Return what says, later, whether the credential of the request being served still vouches for its client."""
        headers, who = list(get_http_request().scope["headers"]), present()
        return lambda: self.still_good(headers, who)

    async def may_finish(self, who: Bearer) -> bool:
        """Whether a call that began with a good token may end: it may outlast the token, and nothing that the owner does."""
        if who.sign_in is not None and await self._running.sign_ins.check(who.sign_in) is None:
            return False
        if who.shown is not None and self._running.config.current().client_of(who.shown.subject) != who.client:
            return False
        return (who.sign_in is not None or who.shown is not None) and await self._is_let_in(who.client)

    async def _shown(self, given: list[bytes]) -> Bearer | Stranger:
        if len(given) != 1:
            return Stranger(presented=bool(given))
        scheme, _, shown = given[0].decode("latin-1").partition(" ")
        token = shown.strip()
        if scheme.lower() != "bearer" or not token:
            return Stranger(presented=False)
        trusted = self._trusted
        if trusted is not None and trusted.tokens is not None and trusted.tokens.are_ours(token):
            return await self._by_sign_in(token, trusted.tokens)
        if trusted is None or trusted.verifier is None or token.startswith(f"{PREFIX}_"):
            return await self._by_our_tokens(token)
        return await self._by_theirs(token, trusted.verifier)

    async def _by_our_tokens(self, token: str) -> Bearer | Stranger:
        known = await self._running.tokens.check(token)
        if known is None:
            return Stranger(presented=True)
        expires = None if known.expires is None else known.expires.timestamp()
        return Bearer(known.client, known.shown, _hash(token), expires=expires)

    async def _by_sign_in(self, token: str, tokens: AccessTokens) -> Bearer | Stranger:
        """A good token is good as long as its sign-in is."""
        shown = tokens.read(token)
        known = await self._running.sign_ins.check(shown.sign_in) if shown is not None else None
        if shown is None or known is None:
            return Stranger(presented=True)
        effects = effects_of(shown.scopes.intersection(known.scopes))
        subject, expires = f"sign-in {known.id}", shown.expires
        return Bearer(known.client, subject, _hash(token), effects, sign_in=known.id, expires=expires)

    async def _by_theirs(self, token: str, verifier: Verifier) -> Bearer | Stranger:
        """The subject of a good token is whom the owner's configuration says it is, and nobody else."""
        config, said = self._running.config.current(), await verifier.check(token)
        client = config.client_of(said.subject) if said is not None else None
        if said is None or client is None or config.oauth is None:
            return Stranger(presented=True)
        lacking = _lacking(config.oauth, said.scopes)
        if lacking:
            return Stranger(presented=True, lacking=lacking)
        shown = Shown(client, said.subject, token)
        self._running.callers.showed(shown)
        effects = effects_of(said.scopes) if config.oauth.mail_scopes else None
        subject = f"subject {said.subject}"
        return Bearer(client, subject, _hash(token), effects, shown, expires=said.expires, said=said)

    async def _is_let_in(self, client: str) -> bool:
        listed = client in self._running.config.current().clients
        return listed and client not in (await self._running.switches.current()).revoked_clients


def _lacking(rules: OAuth, scopes: frozenset[str]) -> tuple[str, ...]:
    """Return what a token must say, and does not. One that may do nothing with mail at all is told to ask for reading."""
    idle = rules.mail_scopes and not effects_of(scopes)
    return tuple(scope for scope in [*rules.scopes, *([READ] if idle else [])] if scope not in scopes)


def _hash(token: str) -> str:
    return digest(token).hex()[:16]
