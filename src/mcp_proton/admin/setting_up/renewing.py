"""What `mcp-proton setup` was told of access tokens that are renewed: flags that become the table `[accounts.NAME.oauth]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import ValidationError

from mcp_proton.config.renewal import Renewal
from mcp_proton.config.values import Kind
from mcp_proton.domain.complaint import from_validation
from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.login.providers import PROVIDERS
from mcp_proton.jmap.protocol.endpoint import Auth

if TYPE_CHECKING:
    from mcp_proton.admin.setting_up.wanted import Wanted
    from mcp_proton.config.tables import Account

KEPT_BY_US = ("keyring", "file")
"""places a secret can be stored in; from all others it is only read"""


@Parameter(name="*", group="Logging in by access tokens that are renewed")
@dataclass(frozen=True)
class Renewing:
    """The flags; None is what was left open."""

    oauth_client_id: Annotated[str | None, Parameter(help="your client there; the flag that switches this on")] = None
    oauth_token_url: Annotated[
        str | None, Parameter(help="where tokens are renewed, an https URL; known of some providers")
    ] = None
    oauth_scope: Annotated[
        str | None, Parameter(help="what to ask for; known of some providers, else as at the sign-in")
    ] = None
    oauth_client_secret: Annotated[
        str | None,
        Parameter(help="where the client's secret is (env:NAME, file:PATH, …), never itself; some have none"),
    ] = None
    oauth_client_auth: Annotated[
        Literal["form", "header"] | None, Parameter(help="how the client's secret is shown (form, unless said)")
    ] = None

    @property
    def given(self) -> dict[str, str]:
        """The flags that were given, as the table has them."""
        told = {name.removeprefix("oauth_"): one for name, one in vars(self).items()}
        return {name: one for name, one in told.items() if one is not None}


def check(wanted: Wanted) -> None:
    """Tell what does not go together with the flags. Raises `Invalid`."""
    given = wanted.renewing.given
    if not given:
        return
    if wanted.auth is Auth.BASIC:
        raise Invalid("--auth basic is for passwords, and --oauth-… for access tokens: leave out one of them")
    if wanted.secret is not None and wanted.secret.partition(":")[0] not in KEPT_BY_US:
        raise Invalid("with --oauth-… --secret must be keyring or file:PATH: new refresh tokens are stored there")
    if "client_id" in given:
        _checked(given)


def check_kind(wanted: Wanted, kind: Kind) -> None:
    """Tell that an account of this kind renews no tokens. Raises `Invalid`."""
    if wanted.renewing.given and kind is not Kind.IMAP:
        raise Invalid(
            "--oauth-… is for `--kind imap` or a --provider",
            next="on JMAP the table `[accounts.NAME.oauth]` is written by hand; Bridge takes a password",
        )


def place(wanted: Wanted, before: Account | None) -> str | None:
    """Return where the secret is, as a flag or config.toml says; None where it can be kept there no more."""
    if wanted.secret or before is None:
        return wanted.secret
    stays = not wanted.renewing.given or before.secret.partition(":")[0] in KEPT_BY_US
    return before.secret if stays else None


def renewal(wanted: Wanted, before: Account | None) -> Renewal | None:
    """Return what config.toml shall say: the flags over what it says already; None where a password is shown.

    Raises `Invalid` for what is missing.
    """
    if wanted.auth is Auth.BASIC:
        return None
    kept = before.oauth if before is not None else None
    given = wanted.renewing.given
    if not given:
        return kept
    table = {**(kept.model_dump(exclude_unset=True) if kept else {}), **given}
    if "client_id" not in table:
        raise Invalid(
            "--oauth-client-id is missing: the client that you registered with the server of --oauth-token-url"
        )
    provider = wanted.provider or (before.provider if before is not None and wanted.host is None else None)
    if "token_url" not in table and (provider is None or PROVIDERS[provider].token_url is None):
        raise Invalid("--oauth-token-url is missing: where access tokens are renewed is known of no such provider")
    return _checked(table)


def _checked(table: dict[str, Any]) -> Renewal:
    try:
        return Renewal.model_validate(table)
    except ValidationError as error:
        first = from_validation(error, Renewal).complaints[0]
        raise Invalid(f"--oauth-{str(first.key[0]).replace('_', '-')}: {first.what}") from None
