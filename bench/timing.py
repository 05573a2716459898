"""Measuring and telling: medians of several runs, interleaved so that both sides see the same machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table: what was measured, the goal, and how it came out."""

    what: str
    value: str
    goal: str
    reached: bool


async def medians(runs: int, *sides: Callable[[], Awaitable[object]], calls: int = 1) -> list[float]:
    """Return the median seconds a call of each side, run in turns after one run to warm up.

    `calls`: so many in a row are one run. What takes a millisecond would else mostly measure what the side before it left
    behind in caches and in the garbage collector.
    """
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(runs + 1):
        for place, side in enumerate(sides):
            began = time.perf_counter()
            for _ in range(calls):
                await side()
            if number:
                taken[place].append((time.perf_counter() - began) / calls)
    return [statistics.median(one) for one in taken]


def ratio(what: str, ours: float, theirs: float, most: float) -> Figure:
    """A figure that says how many times longer ours takes."""
    found = ours / theirs
    return Figure(
        what, f"{found:.2f}x ({ours * 1000:.1f} ms against {theirs * 1000:.1f} ms)", f"<= {most:g}x", found <= most
    )


def beside(what: str, ours: float, theirs: float) -> Figure:
    """A ratio that has no goal of its own: it says what another one is made of."""
    return Figure(
        what, f"{ours / theirs:.2f}x ({ours * 1000:.1f} ms against {theirs * 1000:.1f} ms)", "–", reached=True
    )


def faster(what: str, ours: float, theirs: float, least: float) -> Figure:
    """A figure that says how many times faster ours is."""
    found = theirs / ours
    return Figure(
        what, f"{found:.1f}x ({ours * 1000:.1f} ms against {theirs * 1000:.1f} ms)", f">= {least:g}x", found >= least
    )


def absolute(what: str, value: float, most: float, unit: str) -> Figure:
    """A figure with a unit of its own."""
    return Figure(what, f"{value:.2f} {unit}", f"<= {most:g} {unit}", value <= most)


def tell(figures: list[Figure]) -> None:
    """Print figures as they come."""
    for one in figures:
        print(f"{'ok  ' if one.reached else 'MISS'} {one.what:<74} {one.value:<44} {one.goal}", flush=True)
