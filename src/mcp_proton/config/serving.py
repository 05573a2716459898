"""The part of `[service]` that says where `mcp-proton serve` listens, under which name, and how much it lets happen."""

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, model_validator

from mcp_proton.config.table import Table

DEFAULT_LISTEN = "127.0.0.1:8420"
_UNIX = "unix:"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens: a host and a port (0: any free one), or the path of a Unix domain socket."""

    host: str = ""
    port: int = 0
    path: Path | None = None

    @property
    def is_of_this_machine(self) -> bool:
        """Whether nobody can connect from another machine."""
        if self.path is not None or self.host == "localhost":
            return True
        return ip_address(self.host).is_loopback

    def __str__(self) -> str:
        if self.path is not None:
            return f"{_UNIX}{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def place(text: str) -> Place:
    """Read `127.0.0.1:8420`, `[::1]:8420`, `localhost:8420` or `unix:/path`. ValueError for anything else."""
    if text.startswith(_UNIX):
        path = Path(text.removeprefix(_UNIX))
        if not path.is_absolute():
            raise ValueError("must name a Unix socket by its whole path: unix:/run/mcp-proton/mcp.sock")
        return Place(path=path)
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    in_brackets = bare != host
    if not _is_port(port) or not _is_address(bare, in_brackets=in_brackets):
        raise ValueError("must be an address and a port, such as 127.0.0.1:8420, or unix:/path")
    return Place(bare, int(port))


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) <= 65_535


def _is_address(text: str, *, in_brackets: bool) -> bool:
    if text == "localhost":
        return not in_brackets
    try:
        return (ip_address(text).version == 6) is in_brackets
    except ValueError:
        return False


def _place(text: str) -> str:
    return str(place(text))


def _public_url(text: str) -> str:
    found = urlsplit(text)
    plain = not (found.query or found.fragment or found.username or found.password)
    if found.scheme != "https" or not found.hostname or not plain:
        raise ValueError("must be the https address that clients use, such as https://mail.example.org")
    return text.rstrip("/")


def _proxy(text: str) -> str:
    if text == "unix":
        return text
    try:
        return str(ip_network(text))
    except ValueError:
        raise ValueError("must be addresses or networks of proxies, such as 10.0.0.5 or 10.0.0.0/8, or unix") from None


def _several(value: object) -> object:
    """Take what the environment can hold: words with commas between them."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


PlaceText = Annotated[str, AfterValidator(_place)]
AMinute = Annotated[StrictInt, Field(ge=0, le=100_000)]


class Serving(Table):
    """Where the service listens and what it lets happen. A limit of 0 a minute: none.

    `public_url` is the address of a proxy in front of it that ends TLS. Without one the service is reached from this
    machine alone. `trusted_proxies` are believed when they say whom they pass on (`X-Forwarded-For`); `unix`: whoever
    connects to the socket.
    """

    listen: PlaceText = DEFAULT_LISTEN
    socket_group: Annotated[str, Field(min_length=1)] | None = None
    public_url: Annotated[str, AfterValidator(_public_url)] | None = None
    trusted_proxies: Annotated[
        tuple[Annotated[str, AfterValidator(_proxy)], ...], BeforeValidator(_several), Field(max_length=100)
    ] = ()
    metrics_listen: PlaceText | None = None
    log_format: Literal["text", "json"] = "text"
    reads_per_minute: AMinute = 60
    writes_per_minute: AMinute = 30
    calls_at_once: Annotated[StrictInt, Field(ge=1, le=1_000)] = 16
    call_seconds: Annotated[StrictInt, Field(ge=1, le=3_600)] = 120
    sessions: Annotated[StrictInt, Field(ge=1, le=10_000)] = 256
    session_minutes: Annotated[StrictInt, Field(ge=1, le=1_440)] = 30

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if not place(self.listen).is_of_this_machine and self.public_url is None:
            raise ValueError(
                "listen reaches beyond this machine: say in `public_url` under which https address a proxy that ends TLS "
                "stands in front of it, or listen on 127.0.0.1"
            )
        if self.metrics_listen is not None and not place(self.metrics_listen).is_of_this_machine:
            raise ValueError("metrics_listen must be of this machine: what it tells is not protected")
        return self

    @property
    def public_host(self) -> str | None:
        """The host name that a proxy passes on."""
        return None if self.public_url is None else urlsplit(self.public_url).hostname
