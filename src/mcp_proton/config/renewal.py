"""`[accounts.NAME.oauth]`: where an account's access tokens are renewed."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from mcp_proton.config.oauth import Url
from mcp_proton.config.secrets import secret_place
from mcp_proton.config.table import Table


class Renewal(Table):
    """A token endpoint (RFC 6749 §6) and whom it knows us as. The account's `secret` is then the refresh token; another
    one that the server hands out is stored in its place.

    `client_secret` says where that is; left out for a client that has none. `client_auth`: it goes into the form, or into
    the `header` (RFC 6749 §2.3.1). `token_url` and `scope` left out: as is known of the account's `provider`.
    """

    token_url: Url | None = None
    client_id: Annotated[str, Field(min_length=1, max_length=1_024)]
    client_secret: Annotated[str, AfterValidator(secret_place)] | None = None
    client_auth: Literal["form", "header"] = "form"
    scope: Annotated[str, Field(min_length=1, max_length=4_096)] | None = None
