"""What happens besides the conversation: other devices change the account, Bridge itself is changed or cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_proton.simulator.faults import ApiFault
from mcp_proton.simulator.given import GivenLabel
from mcp_proton.simulator.replaying import recording as recordings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.proton.account import Account
    from mcp_proton.simulator.server import Simulator


class UnknownHappening(Exception):
    """A recording tells of something this simulator has no counterpart of."""


class Happenings:
    """Carries out the steps of recordings that aren't said by a client."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def api_fails(self, written: dict[str, Any] | None) -> None:
        """One more failure of the API is set, or all end (None)."""
        if written is None:
            self._simulator.faults.api.clear()
        else:
            self._simulator.faults.api.append(ApiFault.from_recording(written))

    async def bridge(self, what: dict[str, Any]) -> None:
        """A setting, a resync, a sign-out, a lost network."""
        simulator = self._simulator
        ((word, arguments),) = what.items()
        named = arguments if isinstance(arguments, dict) else {}
        user = simulator.user(named.get("user"))
        if word == "net":
            await (simulator.go_online() if named["State"] == "on" else simulator.go_offline())
        elif word == "settings":
            simulator.settings.show_all_mail = bool(named.get("ShowAllMail", True))
        elif word == "featureflag":
            self._switch_flag(str(named["Name"]))
        else:
            acts: dict[str, Callable[[], None]] = {
                "logout": lambda: simulator.sign_out(user),
                "login": lambda: simulator.sign_in(user),
                "offline": lambda: setattr(simulator.faults, "api_is_down", bool(named.get("State"))),
                "resync": lambda: simulator.resync(user),
                "repair": simulator.repair,
                "tick": lambda: simulator.release_events(named.get("user")),
                "message cache": simulator.empty_message_cache,
            }
            if word in acts:
                acts[word]()
            else:
                raise UnknownHappening(f"bridge: {word}")

    def _switch_flag(self, name: str) -> None:
        if name == "InboxBridgeImapIdleCapabilityDisabled":
            self._simulator.settings.idle_from_next_start = False
        elif name == "InboxBridgeImapAuthenticateCommandDisabled":
            self._simulator.settings.authenticate_at_starts = 2

    def elsewhere(self, what: dict[str, Any]) -> None:
        """Another device changes the account."""
        named = what.get("user")
        for word, arguments in what.items():
            if word == "user":
                continue
            inner = arguments.get("user") if isinstance(arguments, dict) else None
            self._change(self._simulator.account(inner or named), word, arguments)

    def _change(self, account: Account, word: str, arguments: Any) -> None:
        if word == "label":
            account.add_label(GivenLabel.from_path(str(arguments)))
        elif word == "message":
            account.add(recordings.given_message(arguments), now=self._simulator.clock.now())
        elif word == "revoke":
            account.is_revoked = True
        elif word == "refresh":
            account.ask_for_refresh()
        elif word.startswith("label-") and word != "label-message":
            _change_label(account, word, arguments)
        elif word == "address":
            account.addresses[str(arguments["address"])] = arguments["type"] != "disable"
        else:
            self._change_messages(account, word, arguments)

    def _change_messages(self, account: Account, word: str, arguments: dict[str, Any]) -> None:
        ids = [account.find(str(key)).id for key in arguments["ids"]]
        if word == "mark-read":
            account.set_read(ids, read=bool(arguments["read"]))
        elif word == "label-message":
            account.label(ids, account.label_id(str(arguments["label"])))
        elif word == "unlabel-message":
            account.unlabel(ids, account.label_id(str(arguments["label"])))
        elif word == "delete-message":
            account.delete(ids)
        elif word == "flags":
            for flag in arguments["flags"]:
                account.set_flag(ids, str(flag))
        else:
            raise UnknownHappening(f"elsewhere: {word}")


def _change_label(account: Account, word: str, arguments: dict[str, Any]) -> None:
    label = account.label_by_path(str(arguments["label"]))
    if word == "label-delete":
        account.delete_label(label.id)
        return
    parent = account.label_by_path(str(arguments["parent"])).id if arguments.get("parent") else label.parent
    account.change_label(label.id, name=str(arguments.get("name", label.name)), parent=parent)
