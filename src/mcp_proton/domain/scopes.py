"""Scopes: the words by which a token of an authorization server says what its bearer may do at most (A-30).

A scope never gives anything: it is intersected with the owner's rules, boundaries and grants. What no scope names (changing
the rules) no token can do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.effects import Effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

READ, WRITE, SEND = "mail.read", "mail.write", "mail.send"

MAIL: Mapping[str, frozenset[Effect]] = {
    READ: frozenset({Effect.LIST, Effect.READ, Effect.EXPORT}),
    WRITE: frozenset(
        {
            Effect.ORGANIZE,
            Effect.DRAFT,
            Effect.DESTROY,
            Effect.DELETE_FOLDER,
            Effect.DELETE_LABEL,
            Effect.INGEST,
            Effect.IMPORT,
            Effect.AUTOMATE,
        }
    ),
    SEND: frozenset({Effect.SEND, Effect.INGEST, Effect.FETCH}),  # what reaches out of the house
}
"""What each scope leaves open."""


def effects_of(scopes: Iterable[str]) -> frozenset[Effect]:
    """Return what these scopes leave open together. Words that are none of ours leave nothing open."""
    return frozenset(effect for scope in scopes for effect in MAIL.get(scope, ()))


def scopes_for(effect: Effect) -> tuple[str, ...]:
    """Return the scopes that leave an effect open, any of which will do."""
    return tuple(scope for scope, effects in MAIL.items() if effect in effects)
