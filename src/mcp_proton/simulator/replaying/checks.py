"""The true state of accounts, what is stored and what left, held against what a recording says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_proton.simulator.texts.media_types import format_media_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_proton.simulator.proton.departures import Departure
    from mcp_proton.simulator.proton.message import Message
    from mcp_proton.simulator.replaying.matching import Names
    from mcp_proton.simulator.server import Simulator
    from mcp_proton.simulator.texts.addresses import Address


class Checks:
    """Compares; messages named `new1`, … get their ids by what is said of them."""

    def __init__(self, simulator: Simulator, names: Names, differs: Callable[[str, object, object], None]) -> None:
        self._simulator = simulator
        self._names = names
        self._differs = differs

    # -- places, flags, subjects

    def account(self, name: str, expected: dict[str, Any]) -> None:
        """Every message of an account is as it should be, and there are no more."""
        actual = self._simulator.state(name)
        unclaimed = dict(actual)
        named = {key: self._id_of(key, name) for key in expected}
        for key, wanted in expected.items():
            message_id = named[key]
            if message_id is not None:
                self._one(key, wanted, unclaimed.pop(self._state_key(name, message_id), None))
        for key in [key for key in expected if named[key] is None]:
            self._claim(name, key, expected[key], unclaimed)
        for key, found in unclaimed.items():
            self._differs("the account holds more", "(nothing)", f"{key}: {found}")

    def _one(self, key: str, wanted: dict[str, object], found: dict[str, object] | None) -> None:
        if found is None or not _is_like(found, wanted):
            self._differs(f"the account's {key}", wanted, found)

    def _claim(self, name: str, key: str, wanted: dict[str, object], unclaimed: dict[str, dict[str, object]]) -> None:
        fitting = [one for one, found in unclaimed.items() if _is_like(found, wanted)]
        if not fitting:
            self._differs(f"the account's {key}", wanted, None)
            return
        taken = unclaimed.pop(fitting[0])
        if not any(found == taken for found in unclaimed.values()):
            self._names.values[f"id:{key}"] = self._simulator.account(name).find(fitting[0]).id

    def _id_of(self, key: str, name: str) -> str | None:
        known = self._names.values.get(f"id:{key}")
        if known is not None or key.startswith("new"):
            return known
        return next((one.id for one in self._simulator.account(name).messages.values() if one.key == key), "")

    def _state_key(self, name: str, message_id: str) -> str:
        message = self._simulator.account(name).messages.get(message_id)
        return (message.key or message.id) if message is not None else ""

    # -- the server's copy

    def stored(self, key: str, name: str, expected: dict[str, Any]) -> None:
        """The server's copy of written mail, decrypted. What was imported shows in what IMAP serves of it."""
        account = self._simulator.account(name)
        known = account.messages.get(self._names.values.get(f"id:{key}", ""))
        candidates = [known] if known is not None else [one for one in account.messages.values() if not one.key]
        if known is not None and known.composed is None and not known.is_draft:
            return
        for message in candidates:
            if self._first_fault(expected, _as_stored(message)) is None:
                self._names.values[f"id:{key}"] = message.id
                return
        found = _as_stored(candidates[0]) if candidates else {}
        fault = self._first_fault(expected, found) or ""
        self._differs(f"the server's copy of {key}: {fault}", expected.get(fault), found.get(fault))

    def _first_fault(self, expected: dict[str, Any], found: dict[str, object]) -> str | None:
        for name, wanted in expected.items():
            actual = found[name]
            # The date of a draft that was appended isn't kept apart from its header.
            is_undated = name == "header" and "Date: \r\n" in str(actual)
            if not is_undated and not self._names.matches(self._names.fill(str(wanted)), str(actual)):
                return name
        return None

    # -- what left

    def sent(self, expected: Iterable[dict[str, Any]]) -> None:
        """Each mail that left in this conversation: for whom, as what."""
        mails: dict[str, list[Departure]] = {}
        for one in self._simulator.sent:
            mails.setdefault(one.message_id, []).append(one)
        for wanted in expected:
            fitting = next((key for key, mail in mails.items() if self._fits(wanted, key, mail)), None)
            if fitting is None:
                self._differs("what left", wanted, [_as_sent(mail) for mail in mails.values()])
            else:
                del mails[fitting]
        for mail in mails.values():
            self._differs("more left", "(nothing)", _as_sent(mail))

    def _fits(self, wanted: dict[str, Any], message_id: str, mail: list[Departure]) -> bool:
        packages = wanted["packages"]
        people = {address: kind for package in packages for address, kind in package["to"].items()}
        bodies = {package["body"] for package in packages if "body" in package}
        return (
            people == {one.recipient: one.kind for one in mail}
            and {package["type"] for package in packages} == {mail[0].media_type}
            and bodies <= {mail[0].body.decode("utf-8", "surrogateescape")}
            and self._names.matches(str(wanted["message"]), message_id)
        )


def _is_like(found: dict[str, object], wanted: dict[str, object]) -> bool:
    return all(found.get(one) == value for one, value in wanted.items())


def _as_stored(message: Message) -> dict[str, object]:
    held = message.held
    sender = [held.sender] if held.sender else []
    return {
        "address": message.address,
        "external_id": held.external_id,
        "parent": message.parent,
        "from": _printed(sender),
        "to": _printed(held.to),
        "cc": _printed(held.cc),
        "bcc": _printed(held.bcc),
        "reply_to": _printed(sender if message.is_draft else held.reply_to),  # a draft's isn't shown
        "type": held.content.media_type,
        "flags": sorted(message.flags - {"draft"}),
        "header": "".join(f"{name}: {value}\r\n" for name, value in held.header),
        "body": held.content.body.decode("utf-8", "surrogateescape"),
        "attachments": [
            {
                "Disposition": file.disposition,
                "MIMEType": format_media_type(file.media_type, dict(file.parameters)),
                "Name": file.name,
            }
            for file in held.content.attachments
        ],
    }


def _as_sent(mail: list[Departure]) -> dict[str, object]:
    return {
        "message": mail[0].message_id,
        "type": mail[0].media_type,
        "to": {one.recipient: one.kind for one in mail},
        "body": mail[0].body[:200],
    }


def _printed(people: list[Address]) -> list[str]:
    return [str(one) for one in people]
