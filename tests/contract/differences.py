"""What the servers of the contract suite can and cannot, as the table of docs/servers.md. `make differences` prints it anew."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.imap.features import WORDS
from tests.contract import worlds
from tests.servers.cyrus import Cyrus
from tests.servers.dovecot import Dovecot
from tests.servers.fixtures import running
from tests.servers.pymap import Pymap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from tests.contract.worlds import World

PAGE = Path(__file__).parents[2] / "docs" / "servers.md"
EXTENSIONS = (
    "APPENDLIMIT", "BINARY", "COMPRESS=DEFLATE", "CONDSTORE", "ESEARCH", "IDLE", "LIST-STATUS", "LITERAL+", "MOVE",
    "NOTIFY", "OBJECTID", "QRESYNC", "SPECIAL-USE", "UIDPLUS",
)  # fmt: skip
_CONFIGURED = frozenset({"send", "files_sent"})
"""what the owner configures rather than what the server can"""
_HEAD = """# What servers can

<!-- printed by `make differences` from the servers of the contract suite -->

One suite of tests holds every account to the same promises; where a server lacks something, the answer says so.
This is what each of them can (`capabilities_report` tells it of yours), and below which extensions of IMAP they advertise.
"""


async def features(opened: AbstractAsyncContextManager[World]) -> Mapping[str, str]:
    """What an account says it can, and the extensions that its server advertises."""
    async with opened as world:
        health = await world.backend.health()
        told = {word.partition("=")[0] if word.startswith("APPENDLIMIT") else word for word in health.capabilities}
        extensions = {word: "yes" if word in told else "" for word in EXTENSIONS}
        return {**{word: standing.value for word, standing in world.backend.features().items()}, **extensions}


def page(columns: Mapping[str, Mapping[str, str]]) -> str:
    """The whole page."""
    words = [word for word in WORDS if word not in _CONFIGURED]
    imap = [name for name in columns if "jmap" not in name and name != "memory"]
    return f"{_HEAD}\n{_table(words, list(columns), columns)}\n{_table(EXTENSIONS, imap, columns)}"


def _table(words: Sequence[str], names: list[str], columns: Mapping[str, Mapping[str, str]]) -> str:
    lines = [f"| | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for word in words:
        cells = (columns[name].get(word, "") for name in names)
        lines.append(f"| {word} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def column(text: str, name: str) -> Mapping[str, str]:
    """What the page says of one server."""
    found: dict[str, str] = {}
    at: int | None = None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| |"):
            at = cells.index(name) if name in cells else None
        elif line.startswith("| ") and "---" not in line and at is not None:
            found[cells[0]] = cells[at]
    return found


def main() -> None:
    """Start every server, ask it, write the page."""
    with ExitStack() as servers:
        dovecot, cyrus, pymap = (servers.enter_context(running(kind)) for kind in (Dovecot, Cyrus, Pymap))
        opened = {
            "memory": worlds.memory,
            "simulator": worlds.bridge,
            "dovecot": lambda: worlds.server(dovecot.account()),
            "cyrus": lambda: worlds.server(cyrus.account()),
            "pymap": lambda: worlds.server(pymap.account()),
            "cyrus_jmap": lambda: worlds.jmap(cyrus.account()),
            "scripted_jmap": worlds.scripted_jmap,
        }
        columns = {name: asyncio.run(features(made())) for name, made in opened.items()}  # type: ignore[operator]
    PAGE.write_text(page(columns))


if __name__ == "__main__":
    main()
