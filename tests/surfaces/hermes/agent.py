"""One turn of a real Hermes Agent against an MCP server, with a scripted model and no network."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.canaries import children
from tests.surfaces.cli.terminal import Terminal
from tests.surfaces.hermes import install, stub_model
from tests.surfaces.hermes.script import Step, Transcript

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

SERVER = "mail"
_SECONDS = 240
_QUESTION = r"DANGEROUS COMMAND: (.*?)\[o\]nce .*?Choice \[o/s/D\]: "


class Hermes:
    """The agent with a home of its own below `folder`, so no setting of the person who runs the tests reaches it."""

    def __init__(self, folder: Path) -> None:
        self._program = install.program()
        self._home = folder

    def run(self, server_command: Sequence[str | Path], env: Mapping[str, str], script: Sequence[Step]) -> Transcript:
        """Start the server as Hermes does, let the model follow `script`, return the turn.

        Hermes gives its servers only PATH, HOME, the locale and `env`. It exits 0 even when everything failed:
        judge it by the transcript.
        """
        words = [str(word) for word in server_command]
        given = children.environment(dict(env))
        return self.reach({"command": words[0], "args": words[1:], "env": given, "timeout": 120}, script)

    def reach(
        self,
        entry: Mapping[str, Any],
        script: Sequence[Step],
        secrets: Mapping[str, str] | None = None,
        user: Callable[[str], bool] | None = None,
    ) -> Transcript:
        """The same for a server as its configuration names it. `secrets` are in the `.env` beside that.

        With a `user` it runs at a terminal, where they say yes or no to what it asks them.
        """
        with stub_model.serving(script) as model:
            (self._home / ".update_check").write_text(json.dumps(self._checked_for_updates()))
            (self._home / "config.yaml").write_text(json.dumps(self._settings(model.url, entry)))
            (self._home / ".env").write_text("".join(f"{name}={value}\n" for name, value in (secrets or {}).items()))
            answer, errors = self._alone() if user is None else self._with(user)
            return Transcript(answer, model.exchanges(), model.tools, errors + self._logs())

    def _alone(self) -> tuple[str, str]:
        done = subprocess.run(
            self._words(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            cwd=self._home,
            env=self._environment(),
            check=False,
        )
        return done.stdout.strip(), done.stderr

    def _with(self, user: Callable[[str], bool]) -> tuple[str, str]:
        with Terminal(self._words(), {**self._environment(), "TERM": "dumb"}, self._home) as terminal:
            while asked := terminal.shows(_QUESTION):
                terminal.type("o" if user(asked[1]) else "d")
            terminal.ended()
            return terminal.screen, terminal.screen

    def _words(self) -> list[str | Path]:
        return [self._program, "chat", "-Q", "-t", SERVER, "-q", "Please look at my mail."]

    def _settings(self, url: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "model": {
                "default": stub_model.MODEL,
                "provider": "custom",
                "base_url": url,
                "api_key": "none",
                "context_length": stub_model.CONTEXT,
            },
            "mcp_discovery_timeout": 60,
            # No second, unasked pass over the conversation, and tools in full view of the model.
            "skills": {"creation_nudge_interval": 0},
            "memory": {"nudge_interval": 0},
            "tools": {"tool_search": {"enabled": "off"}},
            # It would download a scanner of shell commands.
            "security": {"tirith_enabled": False},
            "mcp_servers": {SERVER: dict(entry)},
        }

    def _checked_for_updates(self) -> dict[str, Any]:
        # Its note of the last look for a newer version; a fresh one keeps it from looking.
        return {"ts": time.time(), "behind": 0, "rev": None, "ver": install.VERSION}

    def _environment(self) -> dict[str, str]:
        home = str(self._home)
        return {
            "PATH": "/usr/bin:/bin",
            "HOME": home,
            "HERMES_HOME": home,
            "TMPDIR": home,
            "LANG": "C.UTF-8",
            "HERMES_ACCEPT_HOOKS": "1",
        }

    def _logs(self) -> str:
        return "".join(log.read_text(errors="replace") for log in sorted(self._home.glob("logs/*.log")))
