"""Counting tokens as current models do: the o200k vocabulary, from a package that carries it."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # how this library opens its own data
    import bpe_openai

    _ENCODING = bpe_openai.get_encoding("o200k_base")


def count(text: str) -> int:
    """Return how many tokens a text has."""
    return len(_ENCODING.encode(text))
