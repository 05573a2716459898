"""o200k tokens of what a model is shown of tools."""

from __future__ import annotations

import json
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # how this library opens its own data
    import bpe_openai

_ENCODING = bpe_openai.get_encoding("o200k_base")


def tokens(tools) -> int:
    """Count name, description and input schema."""
    return sum(len(_ENCODING.encode(_seen(tool))) for tool in tools)


def _seen(tool) -> str:
    schema = json.dumps(tool.input_schema, ensure_ascii=False, separators=(",", ":"))
    return f"{tool.name}\n{tool.description or ''}\n{schema}"
