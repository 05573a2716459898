"""Pausing, revoking and granting: at once, in every process (P-38, P-97)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import timedelta

import pytest

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import NotFound, Unavailable
from mcp_proton.domain.limits import Switches
from mcp_proton.storage.access.switches import SqlSwitches
from mcp_proton.storage.access.switchfile import SwitchFile, decoded, encoded


@pytest.fixture
def published(tmp_path):
    return tmp_path / "state" / "switches.json"


@pytest.fixture
def switches(database, published, clock):
    return SqlSwitches(database, published, clock)


async def test_nothing_is_switched_in_the_beginning(published):
    assert await SwitchFile(published).current() == Switches()


async def test_each_switch_is_seen_at_once_and_taken_back(switches, published):
    seen = SwitchFile(published)
    await switches.pause_client("hermes")
    await switches.revoke_client("goose")
    await switches.pause_account("work")
    await switches.pause_all()
    assert await seen.current() == Switches(
        frozenset({"hermes"}), frozenset({"goose"}), frozenset({"work"}), all_paused=True
    )
    await switches.resume_client("hermes")
    await switches.restore_client("goose")
    await switches.resume_account("work")
    await switches.resume_all()
    assert await seen.current() == Switches()


async def test_the_same_value_is_returned_while_nothing_changes(switches, published):
    seen = SwitchFile(published)
    await switches.pause_client("hermes")
    assert await seen.current() is await seen.current()


async def test_a_grant_is_published_until_it_ends(switches, published, clock):
    """P-18."""
    seen = SwitchFile(published)
    until = clock.now() + timedelta(hours=1)
    given = await switches.grant(frozenset({Effect.SEND}), "allow", until, client="hermes", place="Folders/*")
    assert (await seen.current()).granted == (given,)
    assert given.until == until
    clock.wind(hours=1)
    await switches.publish()
    assert (await seen.current()).granted == ()


async def test_a_grant_can_be_ended_early(switches, published, clock):
    given = await switches.grant(frozenset({Effect.SEND}), "allow", clock.now() + timedelta(hours=1))
    await switches.end_grant(given.id)
    assert (await SwitchFile(published).current()).granted == ()
    with pytest.raises(NotFound):
        await switches.end_grant(given.id)


async def test_revoking_a_client_ends_its_grants(switches, published, clock):
    await switches.grant(frozenset({Effect.SEND}), "allow", clock.now() + timedelta(hours=1), client="hermes")
    await switches.revoke_client("hermes")
    await switches.restore_client("hermes")
    assert await SwitchFile(published).current() == Switches()


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"paused_clients": 3}'])
async def test_a_file_that_cannot_be_understood_pauses_everything(switches, published, content):
    await switches.pause_client("hermes")
    published.write_bytes(content)
    assert (await SwitchFile(published).current()).all_paused


async def test_a_file_that_others_may_write_pauses_everything(switches, published):
    await switches.pause_client("hermes")
    published.chmod(0o666)
    assert (await SwitchFile(published).current()).all_paused


async def test_what_cannot_be_published_is_told_to_the_owner(database, tmp_path, clock):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Unavailable):
        await SqlSwitches(database, tmp_path / "file" / "switches.json", clock).pause_client("hermes")


async def test_switching_at_once_loses_nothing(switches, published):
    await asyncio.gather(*(switches.pause_client(f"c{number}") for number in range(12)))
    assert (await SwitchFile(published).current()).paused_clients == {f"c{number}" for number in range(12)}


def test_switches_read_back_as_they_were_written():
    found = Switches(frozenset({"a"}), frozenset({"b"}), frozenset({"c"}), all_paused=True)
    assert decoded(encoded(found)) == found


@pytest.mark.process
def test_reading_the_switches_loads_no_database():
    code = "import sys, mcp_proton.storage.access.switchfile; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_what_lost_mail_is_frozen_for_every_process_until_it_is_thawed(switches, published):
    seen = SwitchFile(published)
    await switches.freeze("personal", {Effect.ORGANIZE, Effect.DESTROY})
    await switches.freeze("work", {Effect.DESTROY})
    assert (await seen.current()).frozen == {
        ("personal", Effect.ORGANIZE),
        ("personal", Effect.DESTROY),
        ("work", Effect.DESTROY),
    }
    await switches.thaw("personal")
    assert (await seen.current()).frozen == {("work", Effect.DESTROY)}


async def test_a_file_of_an_older_version_freezes_nothing(published):
    written = encoded(Switches(paused_accounts=frozenset({"work"}))).replace('"frozen": [],', "")
    assert "frozen" not in written
    assert decoded(written).frozen == frozenset()
