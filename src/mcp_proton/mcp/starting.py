"""Starting: nothing that is made for a server until it serves is garbage, and all of it lives to the end.

Looking for garbage meanwhile is a fifth of the start, and every look at all of it later holds up calls for 0.1 s.
"""

from __future__ import annotations

import gc


def begins() -> None:
    """Collect no garbage until the start is over."""
    gc.disable()


def is_over() -> None:
    """Collect what becomes garbage from now on, and look no more at what is there."""
    gc.freeze()
    gc.enable()
