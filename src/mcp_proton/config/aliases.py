"""Names that other mail servers' settings have in the environment, taken for ours: whoever moves here keeps them.

They fill what neither config.toml nor a variable of our own says, and never widen anything: rules have no variable.
Names that any program could mean (`PORT`, `RUST_LOG`) count only beside others of the same family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ACCOUNT = "mail"
"""What the account is called that the environment describes, where config.toml has none."""


def _as_it_is(text: str) -> str:
    return text


def _without_path(text: str) -> str:
    return text.rstrip("/").removesuffix("/mcp")


def _this_machine(text: str) -> str:
    return f"127.0.0.1:{text}"


def _form(text: str) -> str:
    return "json" if text == "json" else "text"


def _level(text: str) -> str:
    return {"warn": "warning", "trace": "debug"}.get(text, text)


def _number(text: str) -> object:
    return int(text) if text.isascii() and text.isdigit() else text


def _encryption(text: str) -> str:
    return {"implicit": "tls", "ssl": "tls"}.get(text.lower(), text.lower())


@dataclass(frozen=True)
class Alias:
    """A foreign name, our key, and how its value becomes ours."""

    name: str
    key: str
    read: Callable[[str], object] = _as_it_is


SERVICE = (
    Alias("JMAP_MCP_BIND_ADDR", "listen"),
    Alias("JMAP_MCP_METRICS_BIND_ADDR", "metrics_listen"),
    Alias("JMAP_MCP_RESOURCE_URL", "public_url", _without_path),
    Alias("JMAP_MCP_RATE_LIMIT_READS_PER_MIN", "reads_per_minute", _number),
    Alias("JMAP_MCP_RATE_LIMIT_WRITES_PER_MIN", "writes_per_minute", _number),
    Alias("JMAP_MCP_LOG_FORMAT", "log_format", _form),
    Alias("RUST_LOG", "log", _level),
    Alias("MCP_RESOURCE_URL", "public_url", _without_path),
    Alias("PORT", "listen", _this_machine),
)
MAIL = (
    Alias("MAIL_PROVIDER", "provider"),
    Alias("MAIL_USERNAME", "username"),
    Alias("IMAP_HOST", "host"),
    Alias("IMAP_PORT", "imap_port", _number),
    Alias("SMTP_HOST", "smtp_host"),
    Alias("SMTP_PORT", "smtp_port", _number),
    Alias("SMTP_TLS_MODE", "smtp_security", _encryption),
)
FAMILIES = {"RUST_LOG": "JMAP_MCP_", "PORT": "MAIL_"}


def service(environment: Mapping[str, str]) -> dict[str, tuple[str, object]]:
    """Return the service's settings that foreign names hold: each with the name it comes from."""
    found: dict[str, tuple[str, object]] = {}
    for alias in SERVICE:
        family = FAMILIES.get(alias.name)
        alone = family is not None and not any(name.startswith(family) for name in environment)
        if alias.name in environment and not alone:
            found.setdefault(alias.key, (alias.name, alias.read(environment[alias.name])))
    return found


def account(environment: Mapping[str, str]) -> dict[str, object] | None:
    """Return the account that the environment describes, as config.toml would; None where it describes none.

    The password itself stays in its variable.
    """
    if "MAIL_USERNAME" not in environment or "MAIL_PASSWORD" not in environment:
        return None
    told: dict[str, object] = {"kind": "imap", "secret": "env:MAIL_PASSWORD"}
    for alias in MAIL:
        if alias.name in environment:
            told[alias.key] = alias.read(environment[alias.name])
    if told.get("provider") == "custom":
        del told["provider"]
    senders = [environment.get("MAIL_FROM", ""), *environment.get("MAIL_ALIASES", "").split(",")]
    identities = list(dict.fromkeys(one.strip() for one in senders if one.strip()))
    return told | ({"identities": identities} if identities else {})
