"""Pauses before something that failed is tried again."""

from __future__ import annotations


def doubled(failures: int, first: float, longest: float) -> float:
    """Seconds after so many failures in a row: `first` after one, twice as long after each more, never over `longest`."""
    return min(longest, first * float(1 << min(max(failures - 1, 0), 16)))
