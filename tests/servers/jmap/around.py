"""What a scripted JMAP server does beyond mail: identities, the automatic reply, quotas (RFC 8621 §6 and §8, RFC 9425)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.servers.jmap.store import Store

Answer = dict[str, Any]


class Refusal(Exception):
    """A method-level error."""


class Around:
    """Bound to a store. `forbidden` are the addresses this login may not have as an identity."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.forbidden: set[str] = set()
        self.vacation: Answer = {
            "id": "singleton",
            "isEnabled": False,
            "fromDate": None,
            "toDate": None,
            "subject": None,
            "textBody": None,
            "htmlBody": None,
        }
        self.quotas: list[Answer] = [_quota("q1", "octets", 1_000, 5_000), _quota("q2", "count", 3, None)]

    @property
    def methods(self) -> Mapping[str, Callable[[Answer], Answer]]:
        return {
            "Identity/get": lambda _: {"state": "1", "list": self.store.identities, "notFound": []},
            "Identity/set": self.identity_set,
            "VacationResponse/get": lambda _: {"state": "1", "list": [dict(self.vacation)], "notFound": []},
            "VacationResponse/set": self.vacation_set,
            "Quota/get": lambda _: {"state": "1", "list": self.quotas, "notFound": []},
        }

    def identity_set(self, asked: Answer) -> Answer:
        told: Answer = {"created": {}, "notCreated": {}}
        for name, wanted in asked["create"].items():
            if wanted["email"] in self.forbidden:
                told["notCreated"][name] = {"type": "forbiddenFrom"}
                continue
            made = {"id": f"id{len(self.store.identities) + 1}", **wanted}
            self.store.identities.append(made)
            told["created"][name] = {"id": made["id"]}
        return told

    def vacation_set(self, asked: Answer) -> Answer:
        patch = asked["update"].get("singleton")
        if patch is None or not patch.keys() <= self.vacation.keys():
            raise Refusal("invalidArguments")
        self.vacation |= patch
        return {"updated": {"singleton": None}, "notUpdated": {}}


def _quota(name: str, kind: str, used: int, most: int | None) -> Answer:
    told = {"id": name, "name": name, "resourceType": kind, "scope": "account", "types": ["Mail"], "used": used}
    return told | {"hardLimit": most}
