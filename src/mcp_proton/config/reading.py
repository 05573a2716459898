"""Reading config.toml and the environment. All complaints at once, each with file, line and key, none with a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from mcp_proton.config import aliases
from mcp_proton.config.tables import Account, Config, Service, service_from
from mcp_proton.domain.complaint import Complaint, Misconfigured, from_validation, nearest
from mcp_proton.storage.access.tomllines import Lines, parse
from mcp_proton.storage.files import read_owned

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
    config = _with_account(_from_file(text, file), environment)
    others = {
        key: one for key, one in aliases.service(environment).items() if key not in config.service.model_fields_set
    }
    ours = service_from(environment)
    overrides = {**{key: value for key, (_, value) in others.items()}, **ours}
    if not overrides:
        return config
    try:
        service = Service.model_validate({**config.service.model_dump(exclude_unset=True), **overrides})
    except ValidationError as error:
        names = {key: name for key, (name, _) in others.items() if key not in ours}
        raise _of_environment(from_validation(error, Service), names, "MCP_PROTON_") from None
    config = config.model_copy(update={"service": service})
    strays = list(_strays(config))
    if strays:
        raise Misconfigured([Complaint(("MCP_PROTON_DEFAULT_ACCOUNT",), strays[0].what, "the environment")])
    return config


def _with_account(config: Config, environment: Mapping[str, str]) -> Config:
    """Add the account that the environment describes, where the file has none."""
    told = None if config.accounts else aliases.account(environment)
    if told is None:
        return config
    try:
        account = Account.model_validate(told)
    except ValidationError as error:
        names = {alias.key: alias.name for alias in aliases.MAIL} | {"identities": "MAIL_FROM or MAIL_ALIASES"}
        raise _of_environment(from_validation(error, Account), names, "") from None
    return config.model_copy(update={"accounts": {aliases.ACCOUNT: account}})


def _of_environment(found: Misconfigured, names: Mapping[str, str], prefix: str) -> Misconfigured:
    """Say each complaint by the name of the variable that it is about."""
    return Misconfigured(
        [
            Complaint(
                tuple(names.get(str(key), f"{prefix}{str(key).upper()}") for key in one.key[:1]),
                one.what,
                "the environment",
            )
            for one in found.complaints
        ]
    )


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
