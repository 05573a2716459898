"""The order in which steps that ran at the same time began; recordings list them as they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Content = dict[str, Any]


def in_order_of_start(steps: Iterable[Content]) -> list[Content]:
    """The longer a step took, the earlier it began, right after the step of its connection before it."""
    waiting = list(steps)
    ordered: list[Content] = []
    while waiting:
        following = _long_one_that_is_due(waiting) or next(step for step in waiting if _is_due(step, waiting))
        waiting.remove(following)
        ordered.append(following)
    return ordered


def _long_one_that_is_due(waiting: list[Content]) -> Content | None:
    long = sorted((step for step in waiting if step.get("took")), key=lambda step: -float(step["took"]))
    return long[0] if long and _is_due(long[0], waiting) else None


def _is_due(step: Content, waiting: list[Content]) -> bool:
    return next(one for one in waiting if connection(one) == connection(step)) is step


def connection(step: Content) -> str:
    """The letter of the connection a step belongs to."""
    return str(step.get("c") or step.get("open"))
