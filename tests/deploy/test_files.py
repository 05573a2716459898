"""What `deploy/` holds: units and scripts that agree with one another, and a container that is given little (P-07).

`make image` builds the image and runs it, `make systemd` runs the units; here they are read.
"""

from __future__ import annotations

import plistlib
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from mcp_proton.config.reading import read

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SCRIPTS = ["personal/install", "isolated/install", "isolated/mcp-proton-owner"]


def settings(name: str) -> dict[str, list[str]]:
    """Return the settings of a unit."""
    found: dict[str, list[str]] = {}
    for line in (DEPLOY / name).read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_isolated_unit_says_where_everything_is_in_words_that_config_knows() -> None:
    unit = settings("isolated/mcp-proton.service")
    environment = dict(one.split("=", 1) for one in unit["Environment"])
    service = read("", "config.toml", environment).service
    assert service.listen == "unix:/run/mcp-proton/mcp.sock"
    assert service.socket_group == "mcp-proton-agents" == unit["SupplementaryGroups"][0]
    assert unit["StateDirectoryMode"] == ["0700"]
    assert unit["RuntimeDirectoryMode"] == ["0711"]
    assert "g mcp-proton-agents" in (DEPLOY / "isolated/mcp-proton.sysusers").read_text()


def test_the_owners_command_has_what_the_service_has() -> None:
    unit = settings("isolated/mcp-proton.service")
    command = (DEPLOY / "isolated/mcp-proton-owner").read_text()
    for word in (unit["LoadCredential"][0], "MCP_PROTON_HOME=/var/lib/mcp-proton", unit["ExecStart"][0].split()[0]):
        assert word in command
    assert f"User={unit['User'][0]}" in command


@pytest.mark.parametrize("name", ["isolated/mcp-proton.service", "personal/mcp-proton.service"])
def test_a_unit_is_started_again_only_where_that_could_help(name: str) -> None:
    """And `systemctl start` waits until clients are answered: the service says so."""
    unit = settings(name)
    assert (unit["Restart"], unit["RestartPreventExitStatus"]) == (["on-failure"], ["2"])
    assert unit["Type"] == ["notify"]


def test_launchd_is_told_of_its_agent_in_keys_that_it_knows() -> None:
    """launchd.plist(5). It was never run."""
    told = plistlib.loads((DEPLOY / "personal/mcp-proton.plist").read_bytes())
    installed = (DEPLOY / "personal/install").read_text()
    assert told == {
        "Label": "mcp-proton",
        "ProgramArguments": ["HOME/.local/share/mcp-proton/venv/bin/mcp-proton", "serve"],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 5,
        "Umask": 0o077,
        "StandardErrorPath": "HOME/Library/Logs/mcp-proton.log",
    }
    assert "venv=$HOME/.local/share/mcp-proton/venv\n" in installed
    assert "s|HOME/|$HOME/|" in installed


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_one_for_any_shell(name: str) -> None:
    script = DEPLOY / name
    assert script.stat().st_mode & 0o111
    assert script.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", script], check=True)


@pytest.mark.parametrize(("name", "words"), [("personal/install", []), ("isolated/install", ["agent"])])
def test_an_installer_only_says_what_it_would_do(name: str, words: list[str], tmp_path: Path) -> None:
    """And every file that it would copy is there."""
    done = subprocess.run(
        [DEPLOY / name, "--print", *words], capture_output=True, text=True, check=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    steps = [shlex.split(line.removeprefix("+ ")) for line in done.stdout.splitlines() if line.startswith("+ ")]
    assert len(steps) >= 4
    sources = [Path(word) for step in steps for word in step if word.startswith(str(DEPLOY))]
    assert sources
    assert all(source.exists() for source in sources)
    assert list(tmp_path.iterdir()) == []
    bringing, ours = [step for step in steps if Path(step[0]).name == "pip"]
    assert Path(bringing[-1]).resolve() == DEPLOY / "requirements.lock"
    assert "--require-hashes" in bringing
    assert {"--no-deps", "--no-build-isolation"} <= set(ours)


def test_the_image_runs_as_nobody_and_needs_no_shell() -> None:
    """J-135."""
    lines = re.sub(r"\\\n", " ", (DEPLOY / "container/Dockerfile").read_text()).splitlines()
    steps = [line.strip().split(None, 1) for line in lines if line.strip() and not line.startswith("#")]
    last = max(at for at, step in enumerate(steps) if step[0] == "FROM")
    final = dict(steps[last:])
    assert final["USER"] == "65532:65532"
    for name in ("ENTRYPOINT", "CMD"):
        assert final[name].startswith("[")
    assert re.search(r"CMD \[", final["HEALTHCHECK"])
    assert all(value.startswith("[") for name, value in steps if name == "RUN")
    assert all(re.fullmatch(r"\S+:\d[\w.-]+( AS \w+)?", value) for name, value in steps if name == "FROM")
    copied = [word for name, value in steps if name == "COPY" and "--from" not in value for word in value.split()[:-1]]
    assert [word for word in copied if not (ROOT / word).exists()] == []
    shown = (DEPLOY / "container/Dockerfile.dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in shown if line.startswith("!")} == set(copied)
    assert "*" in shown


def test_the_container_is_given_little() -> None:
    for service in yaml.safe_load((DEPLOY / "container/compose.yaml").read_text())["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["user"] == "65532:65532"
        assert not any("docker.sock" in str(volume) for volume in service["volumes"])


def test_what_the_image_installs_is_what_was_tested() -> None:
    pin = re.compile(r"(?m)^([\w.-]+)==(\S+)")
    tested = dict(pin.findall((ROOT / "requirements.lock").read_text()))
    installed = dict(pin.findall((DEPLOY / "requirements.lock").read_text()))
    assert installed.items() <= tested.items()
    assert "fastmcp" in installed
    assert "pytest" not in installed
