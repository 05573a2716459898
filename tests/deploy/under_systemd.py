"""The units under a systemd that runs, installed by our own installers, the owner's way (P-07): `make systemd`."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.surfaces.cli.lab import Bridge

from .letters import WITH_A_DOCUMENT, WORD
from .machine import CHECKOUT, Machine

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(900)
UNIT = "mcp-proton"
PAGE = Path(__file__).parents[2] / "docs" / "deployment.md"
SOCKET = "/run/mcp-proton/mcp.sock"
CREDENTIAL = "/run/credentials/mcp-proton.service/mail"
INSTALL = f"{CHECKOUT}/deploy/isolated/install"
LISTING = "mailboxes_list", {}


class Served(NamedTuple):
    """The service of the isolated deployment, an agent's token in a file of the agent's, and its Bridge."""

    machine: Machine
    bridge: Bridge

    @property
    def process(self) -> int:
        return int(self.machine.show(UNIT, "MainPID")["MainPID"])

    def kernel(self, name: str) -> str:
        """Return what the kernel tells of the service's process."""
        return self.machine.root("cat", f"/proc/{self.process}/{name}").stdout

    def agent(self, tool: str, arguments: dict[str, Any], user: str = "agent") -> str:
        """Call a tool as a user of the machine does, through the connector; return what came back."""
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        spoken: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": info},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
        ]
        given = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in spoken)
        return self.machine.root(
            "/opt/mcp-proton/bin/mcp-proton", "connect", given=given, user=user, check=False,
            MCP_PROTON_URL=f"unix:{SOCKET}", MCP_PROTON_TOKEN_FILE="/home/agent/token",
        ).stdout  # fmt: skip

    def intrude(self, user: str, **targets: list[str]) -> dict[str, dict[str, str]]:
        """Try things as another user of the machine."""
        ids = [self.machine.root("id", how, user).stdout.strip() for how in ("-u", "-G")]
        words = ["python3", "-I", f"{CHECKOUT}/tests/deploy/intruder.py", ids[0], ids[1].replace(" ", ",")]
        told: dict[str, dict[str, str]] = json.loads(self.machine.root(*words, given=json.dumps(targets)).stdout)
        return told


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine() as one:
        for user in ("agent", "stranger", "owner"):
            one.root("useradd", "--create-home", user)
        one.root(INSTALL, "agent")
        yield one


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    with Bridge() as one:
        one.call(lambda simulator: simulator.deliver(WITH_A_DOCUMENT))
        one.call(lambda simulator: simulator.release_events())
        yield one


def login(bridge: Bridge) -> list[str]:
    where = ["--port", str(bridge.port), "--username", bridge.username, "--trust", bridge.fingerprint]
    return [*where, "--preset", "assistant", "--yes"]


@pytest.fixture(scope="module")
def served(machine: Machine, bridge: Bridge) -> Served:
    """The steps of docs/deployment.md."""
    machine.root("tee", "/etc/mcp-proton/mail.password", given=f"{bridge.password}\n")
    machine.root("mcp-proton-owner", "setup", "mail", "--secret", "systemd:mail", *login(bridge))
    machine.root("systemctl", "enable", "--now", UNIT)
    token = re.search(r"mcpp_\w+", machine.root("mcp-proton-owner", "clients", "add", "agent", "--token").stdout)
    assert token is not None
    machine.root("install", "-m", "0600", "-o", "agent", "/dev/null", "/home/agent/token")
    machine.root("tee", "/home/agent/token", given=token[0])
    return Served(machine, bridge)


def test_without_an_account_it_does_not_start_says_why_and_is_not_tried_again(machine: Machine) -> None:
    assert machine.root("systemctl", "start", UNIT, check=False).returncode != 0
    told = machine.show(UNIT, "ActiveState", "ExecMainStatus", "NRestarts")
    assert told == {"ActiveState": "failed", "ExecMainStatus": "2", "NRestarts": "0"}
    assert "no account is connected yet; run" in machine.root("journalctl", "--unit", UNIT).stdout


def test_it_is_started_when_clients_are_answered(served: Served) -> None:
    """`systemctl start` comes back no earlier: there is no waiting here."""
    served.machine.root("systemctl", "restart", UNIT)
    assert served.machine.show(UNIT, "ActiveState", "SubState", "UnitFileState") == {
        "ActiveState": "active", "SubState": "running", "UnitFileState": "enabled",
    }  # fmt: skip
    assert r"\"status\":\"ok\"" in served.agent(*LISTING)


def test_systemd_has_nothing_to_say_about_what_was_installed(served: Served) -> None:
    done = served.machine.root("systemd-analyze", "verify", f"/etc/systemd/system/{UNIT}.service")
    assert done.stdout + done.stderr == ""


def test_its_sandbox_is_in_force(served: Served) -> None:
    """As the kernel tells it: who it is, what it may, and what it sees."""
    told = dict(line.split(":\t", 1) for line in served.kernel("status").splitlines() if ":\t" in line)
    user = served.machine.root("id", "-u", UNIT).stdout.strip()
    assert set(told["Uid"].split()) == {user}
    assert {told[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (told["NoNewPrivs"], told["Seccomp"]) == ("1", "2")
    mounts = {line.split()[4]: line.split()[5].split(",") for line in served.kernel("mountinfo").splitlines()}
    assert "ro" in mounts["/"]
    assert "rw" in mounts["/var/lib/mcp-proton"]
    for place in ("/home", "/root", "/tmp", "/dev", "/proc", CREDENTIAL.rpartition("/")[0]):
        assert place in mounts, f"{place} is the machine's own"
    seen = ["nsenter", "--target", str(served.process), "--mount", "--", "ls", "/home"]
    assert served.machine.root(*seen, check=False).stdout == ""


def test_mail_is_read_through_it_and_a_document_by_its_confined_reader(served: Served) -> None:
    handle = re.search(r"mail\.\w+\.[\w-]+", served.agent("messages_search", {"query": WORD}))
    assert handle is not None
    assert "in a document" in served.agent("attachments_text", {"message": handle[0], "index": 1})


@pytest.mark.parametrize("user", ["agent", "stranger"])
def test_another_user_reads_and_writes_nothing(served: Served, user: str) -> None:
    found = served.machine.root("find", "/var/lib/mcp-proton", "/etc/mcp-proton").stdout.split()
    assert {"config.toml", "mcp-proton.sqlite3", "mail.password"} <= {Path(one).name for one in found}
    process = [f"/proc/{served.process}/{name}" for name in ("environ", "mem", "maps", "fd", "cwd")]
    wanted = [*found, CREDENTIAL, *process]
    told = served.intrude(user, read=wanted, write=wanted)
    assert {path: how for act in told.values() for path, how in act.items() if how != "PermissionError"} == {}
    assert served.intrude(user, read=["/etc/hostname"])["read"] == {"/etc/hostname": "done"}


def test_the_password_is_in_the_credential_and_nowhere_else(served: Served) -> None:
    password = served.bridge.password
    assert served.machine.root("cat", CREDENTIAL).stdout.strip() == password
    assert password not in served.kernel("environ") + served.kernel("cmdline")
    kept = ["grep", "-rlF", password, "/var/lib/mcp-proton", "/etc", "/run/mcp-proton", "/opt/mcp-proton"]
    assert served.machine.root(*kept, check=False).stdout.split() == ["/etc/mcp-proton/mail.password"]


def test_the_socket_is_open_to_the_group_alone(served: Served) -> None:
    assert served.machine.root("stat", "-c", "%G %a", SOCKET).stdout == "mcp-proton-agents 660\n"
    assert served.intrude("agent", connect=[SOCKET])["connect"] == {SOCKET: "done"}
    assert served.intrude("stranger", connect=[SOCKET])["connect"] == {SOCKET: "PermissionError"}


def test_one_that_was_killed_is_started_again(served: Served) -> None:
    before = served.process
    served.machine.root("systemctl", "kill", "--signal=KILL", UNIT)
    for _ in range(100):
        told = served.machine.show(UNIT, "ActiveState", "MainPID", "NRestarts")
        if told["ActiveState"] == "active" and int(told["MainPID"]) != before:
            break
        time.sleep(1)
    assert told["NRestarts"] == "1"
    assert r"\"status\":\"ok\"" in served.agent(*LISTING)


def test_where_bridge_is_the_only_server_the_network_is_asked_to_be_closed(served: Served) -> None:
    """As systemd reads it, and with the service still reading mail. Whether it acts is up to the kernel's filters."""
    machine = served.machine
    drop_in = f"/etc/systemd/system/{UNIT}.service.d/bridge-only.conf"
    machine.root("install", "-D", "-m", "0644", f"{CHECKOUT}/deploy/isolated/bridge-only.conf", drop_in)
    machine.root("systemctl", "daemon-reload")
    machine.root("systemctl", "restart", UNIT)
    told = machine.show(UNIT, "IPAddressDeny", "IPAddressAllow")
    assert set(told["IPAddressDeny"].split()) == {"0.0.0.0/0", "::/0"}  # in either order
    assert set(told["IPAddressAllow"].split()) == {"127.0.0.0/8", "::1/128"}
    assert r"\"status\":\"ok\"" in served.agent(*LISTING)
    machine.root("rm", "-r", drop_in.rpartition("/")[0])
    machine.root("systemctl", "daemon-reload")


def test_installing_again_keeps_everything_and_runs_the_new_program(served: Served) -> None:
    before = served.process
    served.machine.root(INSTALL, "agent")
    assert served.process not in (0, before)
    assert r"\"status\":\"ok\"" in served.agent(*LISTING)


def test_it_ends_in_order_and_leaves_nothing_running(served: Served) -> None:
    served.machine.root("systemctl", "stop", UNIT)
    told = served.machine.show(UNIT, "ActiveState", "Result", "ExecMainStatus", "ExecMainCode")
    assert told == {"ActiveState": "inactive", "Result": "success", "ExecMainStatus": "0", "ExecMainCode": "1"}
    assert served.machine.root("pgrep", "--uid", UNIT, check=False).stdout == ""
    assert served.machine.root("test", "-e", SOCKET, check=False).returncode != 0
    assert "Traceback" not in served.machine.root("journalctl", "--unit", UNIT).stdout


def test_removing_it_as_documented_leaves_what_it_kept_and_no_program(served: Served) -> None:
    """The very lines of the page."""
    lines = re.search(r"To remove it:\n\n```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert lines is not None
    for line in lines[1].splitlines():
        served.machine.root("sh", "-ec", line.removeprefix("sudo "))
    assert served.machine.show(UNIT, "LoadState") == {"LoadState": "not-found"}
    left = served.machine.root("find", "/opt", "/etc", "/usr/local", "-path", "*mcp-proton*").stdout.split()
    assert left == []
    assert served.machine.root("test", "-e", "/var/lib/mcp-proton/state").returncode == 0


def test_the_personal_unit_runs_as_its_owner(machine: Machine, bridge: Bridge) -> None:
    """Under a user's own systemd, with a password in a file."""
    number = machine.root("id", "-u", "owner").stdout.strip()
    machine.root("systemctl", "start", f"user@{number}")
    more = {"HOME": "/home/owner", "XDG_RUNTIME_DIR": f"/run/user/{number}"}

    def owner(*words: str, given: str = "") -> str:
        return machine.root(*words, user="owner", given=given, **more).stdout

    owner(f"{CHECKOUT}/deploy/personal/install")
    program = "/home/owner/.local/share/mcp-proton/venv/bin/mcp-proton"
    secret = ["--secret", "file:/home/owner/mail.password", "--password-file", "-"]
    owner(program, "setup", "mail", *login(bridge), *secret, given=f"{bridge.password}\n")
    token = re.search(r"mcpp_\w+", owner(program, "clients", "add", "agent", "--token"))
    assert token is not None
    owner("systemctl", "--user", "start", UNIT)
    told = owner("systemctl", "--user", "show", UNIT, "--property=ActiveState,NRestarts")
    assert told == "NRestarts=0\nActiveState=active\n"
    owner("systemctl", "--user", "stop", UNIT)
    assert "success" in owner("systemctl", "--user", "show", UNIT, "--property=Result")
