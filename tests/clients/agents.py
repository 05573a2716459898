"""Real agents, each with a home of its own, a scripted model, no network, and the configuration that we print for it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_proton.admin.programs import TOKEN, Process, Program, Remote, snippet
from tests.clients import install
from tests.surfaces.hermes import stub_model
from tests.surfaces.hermes.script import Step, Transcript

SECONDS = 120
ASKED = "Please look at my mail."


@dataclass(frozen=True)
class Place:
    """Where one run happens, how its agent reaches us, and where its model is."""

    home: Path
    model: str
    way: Process | Remote
    token: str

    @property
    def environment(self) -> dict[str, str]:
        """What every agent gets: nothing of this machine's but where programs are."""
        home = str(self.home)
        xdg = {f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "CACHE", "STATE")}
        path = f"{install.node().parent}:/usr/bin:/bin"
        return {"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "CI": "1", TOKEN: self.token, **xdg}

    def write(self, name: str, text: str) -> None:
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


Prepared = tuple[Sequence[str | Path], Mapping[str, str]]


def codex(place: Place) -> Prepared:
    model = f"""
model = "{stub_model.MODEL}"
model_provider = "stub"
approval_policy = "never"
[model_providers.stub]
name = "stub"
base_url = "{place.model}"
wire_api = "responses"
env_key = "STUB_KEY"
"""
    # Headless it asks nobody, and refuses each call unless it is told beforehand.
    trusted = '[mcp_servers.mail]\ndefault_tools_approval_mode = "approve"\n'
    told = snippet(Program.CODEX, place.way).replace("[mcp_servers.mail]\n", trusted)
    place.write("codex/config.toml", model + told)
    words = [*install.large("codex"), "exec", "--skip-git-repo-check", ASKED]
    return words, {"CODEX_HOME": str(place.home / "codex"), "STUB_KEY": "none"}


def opencode(place: Place) -> Prepared:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": {"baseURL": place.model, "apiKey": "none"},
        "models": {stub_model.MODEL: {"name": "stub", "limit": {"context": stub_model.CONTEXT, "output": 4096}}},
    }
    model = {"model": f"stub/{stub_model.MODEL}", "provider": {"stub": provider}, "autoupdate": False}
    told = json.loads(snippet(Program.OPENCODE, place.way))
    place.write("config/opencode/opencode.json", json.dumps({**model, **told}))
    return [*install.large("opencode"), "run", ASKED], {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


def claude_code(place: Place) -> Prepared:
    apart = {
        "ANTHROPIC_BASE_URL": place.model.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
        "ANTHROPIC_MODEL": stub_model.MODEL,
        "CLAUDE_CONFIG_DIR": str(place.home / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",  # its tools in full view of the model
    }
    program = install.large("claude")
    # The very command that we print.
    _, *words = shlex.split(snippet(Program.CLAUDE_CODE, place.way))
    subprocess.run(
        [*program, *words], check=True, env={**place.environment, **apart}, cwd=place.home, timeout=SECONDS,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    return [*program, "-p", ASKED, "--allowedTools", "mcp__mail"], apart


def gemini(place: Place) -> Prepared:
    told = json.loads(snippet(Program.OTHER, place.way))
    told["mcpServers"]["mail"]["trust"] = True
    told["security"] = {"auth": {"selectedType": "gemini-api-key"}}
    told["privacy"] = {"usageStatisticsEnabled": False}
    place.write(".gemini/settings.json", json.dumps(told))
    words = [*install.large("gemini"), "-m", "gemini-2.5-flash", "--skip-trust", "-p", ASKED]
    return words, {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": place.model.removesuffix("/v1")}


AGENTS: dict[str, Callable[[Place], Prepared]] = {
    "opencode": opencode,
    "codex": codex,
    "claude-code": claude_code,
    "gemini-cli": gemini,
}


def run(name: str, home: Path, way: Process | Remote, token: str, script: Sequence[Step]) -> Transcript:
    """Let an agent follow a script once, and return what its model saw and its user read."""
    with stub_model.serving(script) as model:
        place = Place(home, model.url, way, token)
        words, more = AGENTS[name](place)
        # In a group of its own: some agents leave processes of theirs behind.
        running = subprocess.Popen(
            words, env={**place.environment, **more}, cwd=home, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            answer, errors = running.communicate(timeout=SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
        return Transcript(answer.strip(), model.exchanges(), model.tools, errors)
