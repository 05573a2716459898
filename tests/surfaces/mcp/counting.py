"""o200k tokens of what a model is shown of tools."""

from __future__ import annotations

import json

from tests.o200k import count


def tokens(tools) -> int:
    """Count name, description and input schema."""
    return sum(count(_seen(tool)) for tool in tools)


def _seen(tool) -> str:
    schema = json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
    return f"{tool.name}\n{tool.description or ''}\n{schema}"
