"""pymap's in-memory server with many users instead of one: they are `user1`, `user2` …, each with the demo user's password."""

from __future__ import annotations

import sys

from pymap.backend.dict import Config, DictBackend, Identity, Login
from pymap.main import main
from pymap.user import UserMetadata
from pysasl.hashing import BuiltinHash

USERS = 1_000


class ManyUsers(DictBackend):
    """The backend that is started in the place of the other."""

    @classmethod
    async def _add_demo_user(cls, config: Config, login: Login) -> None:
        # A round instead of half a million: of what a test on this server cost, most was its logins.
        hashed = BuiltinHash(rounds=1).hash(config.password_prep(config.demo_password))
        for number in range(1, USERS + 1):
            name = f"user{number}"
            await Identity(name, login, None, frozenset()).set(UserMetadata(config, name, password=hashed))


if __name__ == "__main__":
    from pymap.backend import backends

    backends.add("many", ManyUsers)
    sys.argv[0] = "pymap"
    main()
