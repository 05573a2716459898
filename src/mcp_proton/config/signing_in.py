"""`[sign_in]`: programs sign in at the service itself, where a person lets them in with a passkey, or at a provider."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from mcp_proton.config.oauth import Url
from mcp_proton.config.secrets import secret_place
from mcp_proton.config.table import Table
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.redirects import SHIPPED, is_rule
from mcp_proton.domain.web_address import WebAddress


class By(StrEnum):
    """Who is asked whether a program may come in: the owner, with a passkey; or the provider of `[oauth]`."""

    PASSKEY = "passkey"
    PROVIDER = "provider"


def _redirect(text: str) -> str:
    if not is_rule(text):
        raise ValueError(
            "must be an https address, one of a program's own scheme, or http to this machine, without a user or a fragment; "
            "only `claude://` and `cowork://` may stand for all addresses of a scheme"
        )
    return text


def _document(text: str) -> str:
    try:
        found = WebAddress.parse(text)
    except MailError:
        found = None
    if found is None or str(found) != text or found.path == "/":
        raise ValueError(
            "must be the https address of a program's own document, such as https://app.example/client.json"
        )
    return text


Redirect = Annotated[str, AfterValidator(_redirect)]
Document = Annotated[str, AfterValidator(_document)]


class SigningIn(Table):
    """How programs sign in. `redirects` are the only addresses an answer is sent to; http ones of this machine with any port,
    `claude://` and `cowork://` for whatever address of that scheme a program registered.

    `documents` are programs that describe themselves, by the address of the description: it says where their answers go.

    `by` provider: programs are handed on to the server of `[oauth]`, which knows the service as `client_id` (and `secret`,
    where it wants one); its addresses are looked up at its issuer unless they are said here.
    """

    by: By
    client_id: Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[\x21-\x7e]+$")] = "mcp-proton"
    documents: list[Document] = Field(default_factory=list)
    redirects: list[Redirect] = Field(default_factory=lambda: list(SHIPPED))
    secret: Annotated[str, AfterValidator(secret_place)] | None = None
    authorize_url: Url | None = None
    token_url: Url | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.by is By.PASSKEY and (self.secret or self.authorize_url or self.token_url):
            raise ValueError('`secret`, `authorize_url` and `token_url` are for `by = "provider"`')
        if (self.authorize_url is None) != (self.token_url is None):
            raise ValueError("needs both of `authorize_url` and `token_url`, or neither")
        return self
