"""The image, built from the Dockerfile and run as compose.yaml says, the owner's way (P-07, J-135): `make image`."""

from __future__ import annotations

import os
import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx2
import pytest

from tests.servers.process import free_ports
from tests.surfaces.cli.lab import Bridge
from tests.surfaces.http.speaking import Raw

from .engine import Engine
from .letters import WITH_A_DOCUMENT, WORD

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(900)
NOBODY = 65532
SECRET = "/run/secrets/mail"


class Container(NamedTuple):
    """The service as compose.yaml runs it: where it listens, an agent's token, its container and its process."""

    engine: Engine
    asked: dict[str, str | Path]
    url: str
    token: str

    @property
    def id(self) -> str:
        return self.engine.compose("ps", "--quiet", "--all", "serve", **self.asked).stdout.strip()

    @property
    def process(self) -> Path:
        """Return what the kernel tells of the service itself; the runtime's `init` is its parent."""
        first = int(self.engine.inspect(self.id)["State"]["Pid"])
        (child,) = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return Path("/proc", child)

    def up(self) -> None:
        """Start it and wait until it answers."""
        self.engine.compose("up", "--detach", "--no-build", "serve", **self.asked)
        health(self.url)

    def owner(self, *words: str) -> str:
        """Run a command of the owner's, as the documentation says."""
        return self.engine.compose("run", "--rm", "--no-TTY", "--no-deps", "owner", *words, **self.asked).stdout

    def inside(self, code: str) -> str:
        """Run Python in the service's container; return what it wrote, and its last complaint."""
        done = self.engine.podman("exec", self.id, "python", "-c", code, check=False)
        return (done.stdout + done.stderr).strip().splitlines()[-1]


def health(url: str) -> dict[str, Any]:
    for _ in range(100):
        try:
            return dict(httpx2.get(f"{url}/health", trust_env=False, timeout=20).json())
        except httpx2.TransportError:
            time.sleep(0.5)
    raise AssertionError("it does not answer")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as one:
        yield one


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    with Bridge() as one:
        one.call(lambda simulator: simulator.deliver(WITH_A_DOCUMENT))
        one.call(lambda simulator: simulator.release_events())
        yield one


@pytest.fixture(scope="module")
def container(engine: Engine, bridge: Bridge) -> Iterator[Container]:
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        password = Path(folder, "password")
        password.write_text(f"{bridge.password}\n")
        password.chmod(0o400)
        Path(folder).chmod(0o711)
        os.chown(password, NOBODY, NOBODY)
        asked: dict[str, str | Path] = {"MAIL_PASSWORD_FILE": password, "MCP_PROTON_LISTEN": f"127.0.0.1:{port}"}
        one = Container(engine, asked, f"http://127.0.0.1:{port}", "")
        try:
            login = ["--port", str(bridge.port), "--username", bridge.username, "--trust", bridge.fingerprint]
            one.owner("setup", "mail", "--secret", f"file:{SECRET}", *login, "--preset", "assistant", "--yes")
            token = re.search(r"mcpp_\w+", one.owner("clients", "add", "agent", "--token"))
            assert token is not None
            one = one._replace(token=token[0])
            one.up()
            yield one
        finally:
            engine.compose("--profile=owner", "down", "--volumes", **asked)


def test_it_says_that_it_runs_and_its_own_health_check_finds_so(container: Container) -> None:
    assert health(container.url)["version"]
    container.engine.podman("healthcheck", "run", container.id)


def test_an_agent_reads_mail_through_it_and_a_document_by_its_confined_reader(container: Container) -> None:
    with Raw(f"{container.url}/mcp", container.token) as raw:
        handle = re.search(r"mail\.\w+\.[\w-]+", raw.call("messages_search", query=WORD).text)
        assert handle is not None
        assert "in a document" in raw.call("attachments_text", message=handle[0], index=1).text
        assert '"ok"' in raw.call("mailboxes_list").text.replace("\\", "")


def test_nobody_gets_in_without_a_token(container: Container) -> None:
    with Raw(f"{container.url}/mcp") as raw:
        assert raw.call("mailboxes_list").status_code == 401


def test_it_is_nobody_without_any_right_behind_a_filter(container: Container) -> None:
    """J-135: UID 65532, every capability dropped, no new privileges; as the kernel tells it."""
    told = dict(
        line.split(":\t", 1) for line in (container.process / "status").read_text().splitlines() if ":\t" in line
    )
    assert set(told["Uid"].split()) == set(told["Gid"].split()) == {str(NOBODY)}
    assert {told[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert told["NoNewPrivs"] == "1"
    assert told["Seccomp"] == "2"


def test_it_writes_to_its_state_and_to_tmp_alone(container: Container) -> None:
    mounts = [line.split() for line in (container.process / "mountinfo").read_text().splitlines()]
    assert [one[5].split(",")[0] for one in mounts if one[4] == "/"] == ["ro"]
    assert "Read-only file system" in container.inside("open('/opt/mcp-proton/x', 'w')")
    assert container.inside("open('/state/x', 'w'); open('/tmp/x', 'w'); print('written')") == "written"
    assert container.inside("import os; os.unlink('/state/x'); print('gone')") == "gone"


def test_its_state_outlives_it_and_it_ends_in_order(container: Container) -> None:
    container.engine.compose("stop", "serve", **container.asked)
    ended = container.engine.inspect(container.id)["State"]
    assert (ended["Status"], ended["ExitCode"]) == ("exited", 0)
    assert "Traceback" not in container.engine.compose("logs", "serve", **container.asked).stdout
    container.engine.compose("rm", "--force", "serve", **container.asked)
    container.up()
    with Raw(f"{container.url}/mcp", container.token) as raw:
        assert raw.call("mailboxes_list").status_code == 200


def test_it_needs_no_shell(engine: Engine) -> None:
    """Nor any other program: what could be one is taken away."""
    (port,) = free_ports(1)
    shells = [f"--volume=/dev/null:/usr/bin/{name}:ro" for name in ("dash", "bash")]
    words = ["--detach", "--network=host", "--read-only", "--cap-drop=all", *shells, "mcp-proton"]
    one = engine.podman("run", *words, "serve", "--demo", f"--listen=127.0.0.1:{port}").stdout.strip()
    try:
        assert health(f"http://127.0.0.1:{port}")["version"]
        token = re.search(r"mcpp_\w+", engine.podman("logs", one).stderr)
        assert token is not None
        with Raw(f"http://127.0.0.1:{port}/mcp", token[0]) as raw:
            assert raw.call("mailboxes_list").status_code == 200
        assert engine.podman("exec", one, "sh", "-c", "true", check=False).returncode != 0
    finally:
        engine.podman("rm", "--force", "--volumes", one)


def test_what_is_built_into_it_is_what_was_tested_and_no_test(engine: Engine) -> None:
    code = "from importlib.metadata import distributions as d; print(*sorted(x.name.lower() for x in d()))"
    there = engine.podman("run", "--rm", "--entrypoint=python", "mcp-proton", "-c", code).stdout.split()
    assert {"mcp-proton", "fastmcp"} <= set(there)
    assert not {"pytest", "hypothesis", "mypy"} & set(there)
