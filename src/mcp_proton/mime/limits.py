"""Limits: how far a hostile message can make us work. Everything above is left out and reported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one message. `text` and `html` count characters, `header` counts octets."""

    depth: int = 60
    parts: int = 1_000
    header: int = 1 << 20
    text: int = 1 << 18
    html: int = 1 << 20


DEFAULT = Limits()
