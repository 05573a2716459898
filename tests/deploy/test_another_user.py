"""P-07: another user reads nothing of state, configuration, rules, secrets or process; the socket is open to a group.

The throwaway users have no names: numbers are enough. The tests need root, which alone may become another user.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.config import editing
from tests.surfaces.cli.lab import Bridge
from tests.surfaces.http.crowded import Crowd
from tests.surfaces.http.process import Service
from tests.surfaces.http.speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]
STRANGER, AGENT, AGENTS = 61_001, 61_002, 61_003


@pytest.fixture(scope="module")
def isolated() -> Iterator[tuple[Crowd, Service, Path]]:
    """The service as the unit starts it: a state folder of its own, a credential, a socket for one group.

    Below folders that everybody may pass through, the home itself among them: each file has to protect itself.
    """
    with tempfile.TemporaryDirectory(prefix="mcp-proton-") as made, Bridge() as bridge:
        top = Path(made)
        top.chmod(0o755)
        credentials, run = top / "credentials", top / "run"
        credentials.mkdir(mode=0o700)
        run.mkdir()
        run.chmod(0o711)
        (credentials / "mail").write_text(f"{bridge.password}\n")
        (credentials / "mail").chmod(0o400)
        crowd = Crowd(top / "home", bridge, ["agent"], "assistant")
        editing.add_account(crowd.owner.folders.config_file, "personal", {"secret": "systemd:mail"})
        (crowd.owner.folders.state / "secrets" / "personal").unlink()
        socket = run / "mcp.sock"
        more = {
            "CREDENTIALS_DIRECTORY": str(credentials),
            "MCP_PROTON_LISTEN": f"unix:{socket}",
            "MCP_PROTON_SOCKET_GROUP": str(AGENTS),
        }
        with Service(home=crowd.owner.home, more=more) as service:
            yield crowd, service, top


def intrude(user: int, groups: list[int], **targets: list[Path]) -> dict[str, dict[str, str]]:
    """Try things as another user."""
    wanted = json.dumps({name: [str(one) for one in paths] for name, paths in targets.items()})
    words = [sys.executable, "-I", str(Path(__file__).with_name("intruder.py")), str(user), ",".join(map(str, groups))]
    done = subprocess.run(words, input=wanted, capture_output=True, text=True, check=True)
    told: dict[str, dict[str, str]] = json.loads(done.stdout)
    return told


def everything(top: Path, service: Service) -> list[Path]:
    process = Path("/proc", str(service.process.pid))
    owned = [*(top / "home").rglob("*"), top / "credentials", *(top / "credentials").rglob("*")]
    return [*owned, *(process / name for name in ("environ", "mem", "maps", "fd", "cwd"))]


def test_the_service_takes_its_password_from_the_credential_it_was_given(isolated: Any) -> None:
    """P-94: no copy of it lies anywhere else."""
    crowd, _, top = isolated
    with Raw("http://localhost/mcp", crowd.tokens["agent"], socket=str(top / "run" / "mcp.sock")) as raw:
        assert '"ok"' in raw.call("mailboxes_list").text.replace("\\", "")
        assert raw.http.get("http://localhost/ready").status_code == 200
    password = crowd.bridge.password.encode()
    kept = [path for path in (top / "home").rglob("*") if path.is_file() and password in path.read_bytes()]
    assert kept == []


@pytest.mark.parametrize(("user", "groups"), [(STRANGER, []), (AGENT, [AGENTS])])
def test_another_user_reads_and_writes_nothing(isolated: Any, user: int, groups: list[int]) -> None:
    """Not even the agents' own: the group opens the socket and nothing else."""
    _, service, top = isolated
    found = everything(top, service)
    names = {path.name for path in found}
    assert {"config.toml", "policy.toml", "mcp-proton.sqlite3", "mail", "environ"} <= names
    told = intrude(user, groups, read=found, write=found)
    assert {path: how for act in told.values() for path, how in act.items() if how != "PermissionError"} == {}


def test_the_intruder_can_do_what_is_open_to_all(isolated: Any) -> None:
    """A test that cannot fail proves nothing: what is open is read."""
    _, _, top = isolated
    open_to_all = top / "open"
    open_to_all.write_text("x")
    open_to_all.chmod(0o644)
    assert intrude(STRANGER, [], read=[open_to_all])["read"] == {str(open_to_all): "done"}


def test_the_socket_is_open_to_its_group_alone_and_there_it_asks_for_a_token(isolated: Any) -> None:
    _, _, top = isolated
    socket = top / "run" / "mcp.sock"
    assert intrude(STRANGER, [], connect=[socket])["connect"] == {str(socket): "PermissionError"}
    assert intrude(AGENT, [AGENTS], connect=[socket])["connect"] == {str(socket): "done"}
    assert socket.stat().st_gid == AGENTS
