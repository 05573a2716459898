"""`[people]`: many users on one JMAP server, a line each (J-80)."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field, StrictBool

from mcp_proton.config.secrets import CALLER
from mcp_proton.config.table import Table
from mcp_proton.config.values import ClientName, Kind, Profile, Text, Url


class People(Table):
    """`[people]`: each of `subjects` reaches the mailbox that their own token opens at `url`, and no other.

    `subjects` says, by a name of yours, who each is to the authorization server. A line makes a client and an account of that
    name, reached with the secret `caller`. The other keys are as for any account and client; `[clients.NAME]` may say
    otherwise for one of them, and name further accounts.
    """

    url: Url
    subjects: dict[ClientName, Text] = Field(default_factory=dict)
    labels: Text | None = None
    origins: list[Url] | None = None
    sending: StrictBool = True
    profile: Profile = Profile.CORE
    review: StrictBool = False

    def added_to(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the document with an account and a client for each person. ValueError where a name is taken."""
        accounts, clients = document.get("accounts", {}), document.get("clients", {})
        if not isinstance(accounts, dict) or not isinstance(clients, dict):
            return document  # the fields say what is wrong with them
        taken = sorted(accounts.keys() & self.subjects.keys())
        if taken:
            raise ValueError(f"`{taken[0]}` is one of `people` and an account of its own: leave out one of them")
        theirs = {name: self._client(name, subject, clients.get(name, {})) for name, subject in self.subjects.items()}
        return {
            **document,
            "accounts": {**accounts, **{name: self._account(name) for name in self.subjects}},
            "clients": {**clients, **theirs},
        }

    def _account(self, name: str) -> dict[str, Any]:
        more = {"labels": self.labels, "origins": self.origins, "sending": self.sending}
        return {"kind": Kind.JMAP, "url": self.url, "username": name, "secret": CALLER, **more}

    def _client(self, name: str, subject: str, said: object) -> object:
        if not isinstance(said, dict):
            return said
        if "subjects" in said:
            raise ValueError(f"`{name}` is one of `people`, which says who that is: leave out the client's `subjects`")
        further = said.get("accounts", [])
        accounts = [name, *(one for one in further if one != name)] if isinstance(further, list) else further
        return {"profile": self.profile, "review": self.review, **said, "accounts": accounts, "subjects": [subject]}
