"""What the owner switches at the command line holds at once (P-18, P-38, P-97's command-line half, N-5)."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from mcp_proton import bootstrap
from mcp_proton.admin import clients, live_check, policy
from mcp_proton.admin.exits import Exit
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Invalid, NotFound

CONFIG = """
[accounts.personal]
kind = "imap"
host = "127.0.0.1"
username = "me"
secret = "env:PASSWORD"

[clients.hermes]
[clients.goose]
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("MCP_PROTON_HOME", str(tmp_path))
    folder = bootstrap.settings(os.environ).folders.config
    folder.mkdir(mode=0o700, parents=True)
    (folder / "config.toml").write_text(CONFIG)
    (folder / "config.toml").chmod(0o600)
    return tmp_path


async def now():
    return await bootstrap.switches_now(bootstrap.settings(os.environ))


def told(capsys) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


async def test_a_grant_holds_until_its_end_and_can_be_ended_before(home, capsys):
    """P-18."""
    done = await policy.grant("allow", [Effect.SEND, Effect.DRAFT], minutes=60, client="hermes", json=True)
    given = told(capsys)
    assert done is Exit.DONE
    (granted,) = (await now()).granted
    assert (granted.id, granted.effects, granted.client) == (given["grant"], {Effect.SEND, Effect.DRAFT}, "hermes")
    await policy.grants(json=True)
    assert told(capsys)["grants"][0]["grant"] == granted.id
    await policy.end_grant(granted.id, json=True)
    assert (await now()).granted == ()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"client": "hermis"}, NotFound),
        ({"account": "work"}, NotFound),
        ({"effect": [Effect.ADMINISTER]}, Invalid),
    ],
)
async def test_a_grant_that_would_bind_nobody_or_give_the_rules_away_is_refused(home, arguments, error):
    """P-19."""
    given = {"effect": [Effect.SEND]} | arguments
    with pytest.raises(error):
        await policy.grant("allow", given.pop("effect"), minutes=60, **given)
    assert (await now()).granted == ()


@pytest.mark.parametrize(
    ("name", "back", "where"), [("pause", "resume", "paused_clients"), ("revoke", "restore", "revoked_clients")]
)
async def test_a_client_is_stopped_at_once_and_let_go_on(home, name, back, where):
    """P-38, P-97."""
    await getattr(clients, name)("hermes")
    assert getattr(await now(), where) == {"hermes"}
    rules = (await bootstrap.policy_in_force(bootstrap.settings(os.environ))).current
    assert getattr(rules, where) == {"hermes"}
    await getattr(clients, back)("hermes")
    assert getattr(await now(), where) == frozenset()


async def test_a_revoked_client_loses_its_grants(home):
    await policy.grant("allow", [Effect.SEND], minutes=60, client="hermes")
    await policy.grant("allow", [Effect.SEND], minutes=60, client="goose")
    await clients.revoke("hermes")
    assert {one.client for one in (await now()).granted} == {"goose"}


async def test_what_was_shut_after_a_loss_is_opened_by_the_owner(home):
    async with bootstrap.switched(bootstrap.settings(os.environ)) as (switches, _):
        await switches.freeze("personal", {Effect.ORGANIZE})
    assert (await now()).frozen
    await policy.thaw("personal")
    assert not (await now()).frozen


async def test_a_live_check_needs_a_terminal(home, capsys):
    assert await live_check.review("hermes", json=True) is Exit.REFUSED
    assert told(capsys)["code"] == "needs_terminal"
    assert not bootstrap.settings(os.environ).config.reviews("hermes")


@pytest.mark.parametrize("passed", [True, False])
async def test_a_live_check_shows_the_number_and_waits_for_the_client(home, monkeypatch, capsys, passed):
    """N-5."""
    monkeypatch.setattr(live_check, "interactive", lambda: True)
    monkeypatch.setattr(live_check, "_LOOK_SECONDS", 0.01)
    asking = asyncio.create_task(live_check.review("hermes"))
    async with bootstrap.switched(bootstrap.settings(os.environ)) as (_, channels):
        while (challenge := (await channels.read("hermes")).challenge) is None:
            await asyncio.sleep(0.01)
        await channels.answered("hermes", passed=passed)
        assert await asking is (Exit.DONE if passed else Exit.REFUSED)
        assert ((await channels.read("hermes")).checked is not None) == passed
    assert challenge.number in capsys.readouterr().err
    assert bootstrap.settings(os.environ).config.reviews("hermes")
    await live_check.review("hermes", off=True)
    assert not bootstrap.settings(os.environ).config.reviews("hermes")
