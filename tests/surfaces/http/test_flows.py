"""N-15: `mcp-proton doctor --client` says what each program says, to us as a process and to the always-on service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.admin.check import State
from mcp_proton.admin.flows.flow import flow
from mcp_proton.admin.flows.lines import Web
from mcp_proton.admin.flows.saying import Saying
from mcp_proton.admin.programs import Program
from mcp_proton.config.serving import place

from .process import Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]
STEPS = ["greeting", "tools", "call", "refusal", "end"]


@pytest.mark.parametrize("program", Program)
async def test_what_a_program_says_is_answered_as_it_needs_it(demo: Service, program: Program) -> None:
    saying = Saying("it", flow(program), Web(place(f"127.0.0.1:{demo.port}"), demo.demo_token))
    told = [one async for one in saying.told()]
    assert [one.name for one in told] == [f"it: {step}" for step in STEPS]
    assert {one.state for one in told} == {State.OK}, told


def rows(owner: Owner, *words: str | Path) -> dict[str, tuple[str, str]]:
    """Run the doctor for hermes, and return state and text of each check."""
    told = owner.json("doctor", "--client", "hermes", *words)["checks"]
    return {one["check"]: (one["state"], f"{one['what']}; {one.get('next')}") for one in told}


@pytest.fixture
def listening(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service whose place the owner's settings say."""
    with Service("--listen", "127.0.0.1:0", home=owner.home) as service:
        monkeypatch.setenv("MCP_PROTON_LISTEN", f"127.0.0.1:{service.port}")
        yield service


def test_a_client_is_looked_at_over_both_ways_and_what_is_wrong_with_its_token_is_told(
    owner: Owner, listening: Service
) -> None:
    """The token is found where the program finds it, and printed nowhere."""
    file = owner.folders.config / "hermes.token"
    owner.run("clients", "rotate", "hermes", "--token-file", file)
    token = file.read_text().strip()
    told = rows(owner)
    for way in ("hermes, started by hermes", "hermes at the service, as hermes"):
        assert [told[f"{way}: {step}"][0] for step in STEPS] == ["ok"] * 5, told
    assert token not in str(told)
    assert "recorded from Hermes Agent" in told["hermes at the service, as hermes: greeting"][1]
    assert "mcp-proton approvals" in told["hermes: approvals"][1]
    owner.run("clients", "rotate", "hermes")
    state, why = rows(owner)["hermes at the service, as hermes: greeting"]
    assert (state, "mcp-proton clients rotate" in why) == ("fix", True)


def test_what_would_fail_is_told_with_what_to_do(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens, the password is gone, and the owner is to be asked where nobody can ask."""
    monkeypatch.setenv("MCP_PROTON_LISTEN", "127.0.0.1:1")
    text = owner.folders.config_file.read_text()
    owner.write_config(text.replace("[clients.hermes]\n", "[clients.hermes]\nreview = true\n"))
    file = owner.home.parent / "token"
    owner.run("clients", "rotate", "hermes", "--token-file", file)
    owner.keep_password("another")
    said = owner.run("doctor", "--client", "hermes", "--program", "opencode", "--token-file", file)
    assert said.code == 1
    for words in ("mcp-proton serve", "refused the login", "cannot ask its user", "clients review hermes --off"):
        assert words in said.out, said.out
    assert owner.run("doctor", "--client", "hermse").code == 4


def test_the_account_that_is_named_is_what_a_client_is_tried_on(owner: Owner) -> None:
    """Of several, without a default, a call must name one; one that the client was not given is told as that."""
    text = owner.folders.config_file.read_text()
    account = text[text.index("[accounts.personal]") : text.index("[clients.hermes]")]
    several = f"{text}\n{account.replace('personal]', 'work]')}\n{account.replace('personal]', 'private]')}"
    owner.write_config(several.replace("[clients.hermes]", '[clients.hermes]\naccounts = ["personal", "work"]'))
    call = "hermes, started by hermes: call"
    state, why = rows(owner)[call]
    assert (state, "there are several accounts" in why) == ("fix", True)
    told = owner.json("doctor", "work", "--client", "hermes")["checks"]
    assert [one["what"].partition(" is")[0] for one in told if one["check"] == call] == ["mailboxes_list for work"]
    assert {one["state"] for one in told} == {"ok", "skip"}
    said = owner.run("doctor", "private", "--client", "hermes")
    assert said.code == 1
    assert "`private` was not given to it" in said.out
    assert owner.run("doctor", "wrok", "--client", "hermes").code == 4


@pytest.mark.parametrize("words", [("--client", "hermes", "--prove"), ("--program", "codex"), ("--token-file", "x")])
def test_words_that_do_not_go_together_are_refused_not_ignored(owner: Owner, words: tuple[str, ...]) -> None:
    said = owner.run("doctor", *words)
    assert said.code == 2
    assert "--client" in said.err
