"""Reading config.toml and the environment. All complaints at once, each with file, line and key, none with a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from mcp_proton.domain.complaint import Complaint, Misconfigured, from_validation, nearest
from mcp_proton.storage.files import read_owned
from mcp_proton.storage.tomllines import Lines, parse

from .tables import Config, Service, service_from

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_PASSWORD_KEYS = ("password", "passwd", "token", "passphrase")


def load(path: Path, environment: Mapping[str, str]) -> Config:
    """Return the configuration; an empty one where there is no file. Raises `Misconfigured`."""
    try:
        text, _ = read_owned(path)
    except FileNotFoundError:
        text = ""
    except OSError as error:
        raise Misconfigured([Complaint((), f"cannot be read ({error.strerror})", path.name)]) from None
    return read(text, path.name, environment)


def read(text: str, file: str, environment: Mapping[str, str]) -> Config:
    """Return the configuration that a text says. Raises `Misconfigured`."""
    config = _from_file(text, file)
    overrides = service_from(environment)
    if not overrides:
        return config
    try:
        service = Service.model_validate({**config.service.model_dump(exclude_unset=True), **overrides})
    except ValidationError as error:
        complaints = from_validation(error, Service).complaints
        raise Misconfigured([Complaint(_variable(one), one.what, "the environment") for one in complaints]) from None
    config = config.model_copy(update={"service": service})
    strays = list(_strays(config))
    if strays:
        raise Misconfigured([Complaint(("MCP_PROTON_DEFAULT_ACCOUNT",), strays[0].what, "the environment")])
    return config


def _variable(complaint: Complaint) -> tuple[str, ...]:
    return tuple(f"MCP_PROTON_{str(key).upper()}" for key in complaint.key[:1])


def _from_file(text: str, file: str) -> Config:
    document = parse(text, file)
    try:
        config = Config.model_validate(document)
    except ValidationError as error:
        found = from_validation(error, Config)
        raise Misconfigured([_kinder(one) for one in found.complaints]).located(file, Lines(text).of) from None
    strays = list(_strays(config))
    if strays:
        raise Misconfigured(strays).located(file, Lines(text).of)
    return config


def _strays(config: Config) -> Iterator[Complaint]:
    """Yield a complaint for every account that is named but not there."""
    known = config.accounts
    default = config.service.default_account
    if default is not None and default not in known:
        yield Complaint(("service", "default_account"), f"is not one of the accounts{nearest(default, known)}")
    for name, client in config.clients.items():
        for number, account in enumerate(client.accounts or ()):
            if account not in known:
                yield Complaint(
                    ("clients", name, "accounts", number), f"is not one of the accounts{nearest(account, known)}"
                )


def _kinder(complaint: Complaint) -> Complaint:
    if complaint.what.startswith("is not a key") and nearest(str(complaint.key[-1]).lower(), _PASSWORD_KEYS):
        return Complaint(
            complaint.key, "is not a key here; a password never stands in this file: `secret` says where it is"
        )
    return complaint
