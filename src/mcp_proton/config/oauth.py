"""`[oauth]`: an authorization server whose tokens the service accepts, beside the owner's own."""

from typing import Annotated, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StrictBool, model_validator

from mcp_proton.config.secrets import secret_place
from mcp_proton.config.table import Table

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
Algorithm = Literal["ES256", "ES384", "RS256", "RS384", "RS512", "EdDSA", "Ed25519"]


def is_safe(address: str) -> bool:
    """Whether nobody on the way can listen: https, or http to this machine."""
    try:
        found = urlsplit(address)
    except ValueError:
        return False
    safe = found.scheme == "https" or (found.scheme == "http" and found.hostname in _LOOPBACK)
    return bool(safe and found.hostname and not found.username and not found.fragment)


def _url(text: str) -> str:
    if not is_safe(text):
        raise ValueError("must be an https address (http only to this machine)")
    return text


Url = Annotated[str, AfterValidator(_url)]
Words = list[Annotated[str, Field(min_length=1, max_length=256)]]


class OAuth(Table):
    """Whose tokens, and what they must say. `audience` left out: the service's own address.

    JWTs are checked against `jwks_url`; opaque tokens by asking `introspection_url`, as `client_id` with `secret`.
    A token's subject is a client of yours by `subjects` in `[clients.NAME]`; it must have all of `scopes`. What it may do at
    most is said by mail.read, mail.write and mail.send in it; with `mail_scopes` off, for servers that cannot say so, your
    rules alone decide.
    """

    issuer: Url
    jwks_url: Url | None = None
    audience: Annotated[str, Field(min_length=1)] | None = None
    algorithms: Annotated[list[Algorithm], Field(min_length=1)] = Field(
        default_factory=lambda: list(get_args(Algorithm))
    )
    scopes: Words = Field(default_factory=list)
    mail_scopes: StrictBool = True
    introspection_url: Url | None = None
    client_id: Annotated[str, Field(min_length=1)] | None = None
    secret: Annotated[str, AfterValidator(secret_place)] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.jwks_url is None and self.introspection_url is None:
            raise ValueError("needs `jwks_url`, or `introspection_url` for tokens that are no JWTs")
        given = [one is not None for one in (self.introspection_url, self.client_id, self.secret)]
        if any(given) and not all(given):
            raise ValueError("introspection needs all of `introspection_url`, `client_id` and `secret`")
        return self
