"""The laws of the catalog: what holds for every operation, whoever adds it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from mcp_proton.domain.caller import Audience
from mcp_proton.domain.effects import DESTRUCTIVE, READING, Effect
from mcp_proton.domain.operation import Operation
from mcp_proton.services import operations
from mcp_proton.services.door import registry
from mcp_proton.services.fields import Mark

CATALOG = registry.load()
ALL = list(CATALOG)
FAMILIES = {
    "accounts", "mailboxes", "messages", "attachments", "labels", "drafts", "mail", "imports", "exports", "jobs", "events",
    "threads", "addresses", "operations", "artifacts", "capabilities", "approvals", "folders", "invitations", "receipts",
    "vacation", "identities",
}  # fmt: skip


def ids(one: Any) -> str:
    return str(one.name)


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_every_operation_says_what_it_does_in_one_short_sentence(one: Any) -> None:
    first = " ".join((one.request.__doc__ or "").split()).split(". ")[0]
    assert 5 <= len(first) <= 60


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_every_operation_has_an_example_that_validates(one: Any) -> None:
    one.request.model_validate(one.example)


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_every_request_and_result_is_closed_and_frozen(one: Any) -> None:
    """J-61: unknown arguments are refused."""
    for model in (one.request, registry.primitive(one).result):
        assert model.model_config["extra"] == "forbid"
        assert model.model_config["frozen"]


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_no_scope_hides_in_a_bare_string(one: Any) -> None:
    for name, info in one.request.model_fields.items():
        marked = any(isinstance(mark, Mark) for mark in info.metadata)
        harmless = info.annotation in (bool, int) or "Literal" in str(info.annotation)
        assert marked or harmless, f"`{name}` has no field type that says what it touches"


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_every_operation_declares_an_effect_or_belongs_to_the_journal(one: Any) -> None:
    operation = registry.primitive(one)
    assert operation.effects or operation.steers


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_names_are_a_family_and_a_verb(one: Any) -> None:
    """P-84."""
    family, _, verb = one.name.partition("_")
    assert family in FAMILIES
    assert re.fullmatch(r"[a-z]+(_[a-z]+)*", verb)


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_only_what_changes_nothing_is_called_read_only(one: Any) -> None:
    operation = registry.primitive(one)
    assert operation.reads_only == (operation.effects <= READING and not operation.steers)
    assert not (operation.reads_only and operation.effects & DESTRUCTIVE)


def test_the_owners_powers_are_not_in_what_an_agent_may_be_shown() -> None:
    """P-19."""
    shown = {one.name for one in CATALOG.for_audience(Audience.AGENT)}
    administering = {one.name for one in ALL if Effect.ADMINISTER in registry.primitive(one).effects}
    assert administering
    assert not shown & administering


def test_two_operations_of_one_name_are_refused_at_start() -> None:
    one = ALL[0]
    with pytest.raises(ValueError, match=one.name):
        registry.collect([one, one])


def test_a_new_file_is_enough_for_a_new_operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding a capability is one file: the catalog, and all that is read off it, finds it."""
    (tmp_path / "planted.py").write_text(
        '''
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.operation import Operation, Request, Result

class MailPlanted(Request):
    """Do the planted thing."""

async def perform(request, ctx):
    return Result()

mail_planted = Operation(request=MailPlanted, result=Result, effects=frozenset({Effect.LIST}), perform=perform, example={})
'''
    )
    monkeypatch.setattr(operations, "__path__", [*operations.__path__, str(tmp_path)])
    assert isinstance(registry.load().by_name["mail_planted"], Operation)


def test_operations_never_mention_an_imap_word() -> None:
    """Ports speak mail: UIDs live and die in the backend."""
    for path in Path(operations.__path__[0]).glob("*.py"):
        assert not re.search(r"\b(uidvalidity|UIDVALIDITY|UID FETCH|EXPUNGE)\b", path.read_text()), path.name


def models(model: type[BaseModel], seen: set[type[BaseModel]]) -> set[type[BaseModel]]:
    if model in seen:
        return seen
    seen.add(model)
    waiting = [info.annotation for info in model.model_fields.values()]
    while waiting:
        kind = waiting.pop()
        waiting.extend(get_args(kind))
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            models(kind, seen)
    return seen


@pytest.mark.parametrize("one", ALL, ids=ids)
def test_every_model_in_a_result_is_one_of_ours(one: Any) -> None:
    for model in models(registry.primitive(one).result, set()):
        assert model.__module__.startswith("mcp_proton.")
