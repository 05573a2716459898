"""Program: what an agent lives in."""

from enum import StrEnum


class Program(StrEnum):
    """Programs we know the configuration of."""

    HERMES = "hermes"
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CODEX = "codex"
    OPENCODE = "opencode"
    VSCODE = "vscode"
    CURSOR = "cursor"
    GOOSE = "goose"
    OTHER = "other"


def guess(label: str) -> Program | None:
    """Return the program a label is named after."""
    return next((one for one in Program if label == one.value or label.startswith(f"{one.value}-")), None)
