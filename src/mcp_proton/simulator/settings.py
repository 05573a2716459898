"""What can be switched in a Bridge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Settings:
    """What can be switched in a Bridge: its own settings, and the server's feature flags.

    `answers_in_order` takes away the disorder in which Bridge sends LIST lines and the FETCH responses of several messages.
    `authenticate_at_starts` counts down to the start from which AUTHENTICATE is gone (its flag acts from the second start
    after it was set).
    """

    show_all_mail: bool = True
    answers_in_order: bool = False
    has_idle: bool = True
    has_authenticate: bool = True
    idle_from_next_start: bool = True
    authenticate_at_starts: int = -1
