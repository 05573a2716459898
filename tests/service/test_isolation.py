"""What belongs to another account or another client does not exist: the same answer, by the same way, as for what never was
(A-42, J-80, P-31, P-41).

The catalog is walked: an operation that takes a handle, account, operation id, artifact or cursor is tested by being there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.services.door.registry import primitive
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.services.fields import Mark, Ours
from mcp_proton.storage.access.links import SqlLinks
from mcp_proton.storage.artifacts import FileArtifacts
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import Runner
from mcp_proton.testing import MemoryAccounts

from .conftest import CATALOG, House, letter

MINE = Caller("hermes", Audience.AGENT, Surface.TOOL, accounts=frozenset({"personal"}))
OTHER = Caller("other", Audience.AGENT, Surface.TOOL)
SAYS_NOTHING = frozenset(
    {
        *("limit", "index", "max_tokens", "position", "pages", "detach", "media_type", "response", "unchanged_since"),
        *("received_after", "received_before", "waiting", "digest", "sender", "cid", "attach"),
        *("expected_query_state", "expected_query_fingerprint"),
    }
)
"""Fields that name nothing: numbers, dates, types, what the caller itself was told; `attach` holds fields of its own."""


def nested(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from nested(inner)


def kind_of(name: str, info: Any) -> str | None:
    """What a field names, if anything."""
    if any(isinstance(one, Ours) for one in info.metadata):
        return None
    if Mark.HANDLE in info.metadata:
        return "handle"
    if Mark.ACCOUNT in info.metadata:
        return "account"
    if Mark.TOKEN in info.metadata and name not in SAYS_NOTHING:
        return name
    return None


def fields() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Every field of every operation that names something: the operation, the way to it, what it names."""
    for one in CATALOG:
        for name, info in one.request.model_fields.items():
            kind = kind_of(name, info)
            if kind is not None:
                yield one.name, (name,), kind
            if any(isinstance(mark, Ours) for mark in info.metadata):
                continue
            for model in nested(info.annotation):
                for inner, about in model.model_fields.items():
                    kind = kind_of(inner, about)
                    if kind is not None:
                        yield one.name, (name, inner), kind


FIELDS = list(fields())
AGENTS = {one.name for one in CATALOG if primitive(one).audience is Audience.AGENT}


class Home(House):
    """Two accounts, two clients, and a store as the product has it."""

    def __init__(self, folder: Path, template: Path) -> None:
        super().__init__()
        shutil.copyfile(template, folder / "store.sqlite3")
        self.rules(preset="autonomous", rules=[{"effect": "organize", "client": "other", "verdict": "ask"}])
        self.database = Database(folder / "store.sqlite3", migrate)
        runner = Runner(self.database, self.clock)
        self.sql = SqlJournal(self.database, self.clock, runner=runner)
        self.held = FileArtifacts(folder / "artifacts", self.clock)
        links = SqlLinks(self.database, self.clock, 1 << 20)
        links.origin = "http://localhost"
        self.service = MailService(
            World(
                CATALOG,
                MemoryAccounts(self.personal, self.work),
                self.policies,
                self.sql,
                self.held,
                self.clock,
                links=links,
            )
        )

    async def furnish(self) -> None:
        """What the other one has."""
        self.mine = str(self.receive("Mine"))
        handles = [self.work.add("INBOX", letter(f"L{n}", message_id=f"<{n}@x>")) for n in range(3)]
        self.handle = str(handles[0])
        waiting = await self.ask("messages_star", OTHER, messages=[self.handle])
        self.operation = waiting["operation_id"]
        async with self.held.create(OTHER, "secret.txt", "text/plain") as writer:
            await writer.write(b"secret")
            self.artifact = (await writer.done()).id
        page = await self.ask("messages_list", OTHER, account="work", limit=1)
        self.cursor = page["cursor"]
        self.work.calls.clear()

    async def aclose(self) -> None:
        await self.service.aclose()
        await self.sql.aclose()
        await self.database.aclose()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nothing was written to yet."""
    path = tmp_path_factory.mktemp("template") / "store.sqlite3"
    migrate(path)
    return path


@pytest.fixture
async def home(tmp_path: Path, template: Path) -> AsyncIterator[Home]:
    made = Home(tmp_path, template)
    await made.furnish()
    yield made
    await made.aclose()


_SOURCES = ("artifact", "path", "url", "message")
"""Where a file comes from: of those an operation takes one."""


def put(example: dict[str, Any], way: tuple[str, ...], value: str, operation: str) -> dict[str, Any]:
    """An example that names something else at one place."""
    field = CATALOG.by_name[operation].request.model_fields[way[0]]
    many = "tuple" in str(field.annotation)
    if len(way) == 1 and way[0] in _SOURCES:
        others = {*_SOURCES, *(() if way[0] == "message" else ("index",))} - {way[0]}
        example = {name: one for name, one in example.items() if name not in others}
    if len(way) == 1:
        return example | {way[0]: [value] if many else value}
    inner = {way[1]: value}
    return example | {way[0]: [inner] if many else inner}


def own(example: dict[str, Any], home: Home) -> dict[str, Any]:
    """An example whose own messages exist."""
    told = json.dumps(example)
    return json.loads(told.replace("personal.ei5nnz.sd2egw-2n9c", home.mine))  # type: ignore[no-any-return]


SECRET = {
    "handle": lambda home: (home.handle, "nowhere.abcdef.1-1", {"work": "nowhere"}),
    "account": lambda _: ("work", "nowhere", {"work": "nowhere"}),
    "operation_id": lambda home: (home.operation, "op_" + "a" * 16, {home.operation: "op_" + "a" * 16}),
    "artifact": lambda home: (home.artifact, "art_" + "a" * 26, {home.artifact: "art_" + "a" * 26}),
    "cursor": lambda home: (home.cursor, "0123456789~1", {home.cursor: "0123456789~1"}),
}
"""By what a field names: what is the other one's, what never was, and which words of an answer may differ for it."""


@pytest.mark.parametrize(
    ("operation", "way", "kind"), FIELDS, ids=lambda one: ".".join(one) if isinstance(one, tuple) else one
)
async def test_what_is_anothers_is_answered_as_what_never_was(
    home: Home, operation: str, way: tuple[str, ...], kind: str
) -> None:
    foreign, missing, alike = SECRET[kind](home)
    example = own(CATALOG.by_name[operation].example, home)
    told = [await home.ask(operation, MINE, **put(example, way, one, operation)) for one in (foreign, missing)]
    ids = [one.pop("operation_id", None) is not None for one in told]  # of a record of one's own
    assert ids[0] == ids[1]
    words = json.dumps(told[0])
    for theirs, ours in alike.items():
        words = words.replace(theirs, ours)
    assert json.loads(words) == told[1]
    assert told[0]["status"] in {"not_found"} | ({"refused"} if kind == "cursor" else set()), told[0]
    assert home.work.calls == [], "the other account is not even looked at: there is no second way to be told by"


def test_every_field_that_names_something_is_known_here() -> None:
    """A new kind of name is refused here until it is said what belongs to whom."""
    assert {kind for _, _, kind in FIELDS} <= SECRET.keys()
    assert {name for name, _, _ in FIELDS} >= {"messages_get", "messages_transfer", "operations_undo", "mail_send"}


@pytest.mark.parametrize("operation", sorted({one.name for one in CATALOG} - AGENTS))
async def test_an_approval_is_the_owners_alone(home: Home, operation: str) -> None:
    """P-41: for a client there is no such operation, whoever asked for what waits."""
    example = CATALOG.by_name[operation].example | {"operation_id": home.operation}
    told = [await home.ask(operation, who, **example) for who in (MINE, OTHER)]
    assert told[0] == told[1]
    assert told[0]["status"] == "not_found"
