"""What can be switched in a Bridge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Settings:
    """What can be switched in a Bridge: its own settings, the server's feature flags, and each way in which it surprises.

    `answers_in_order` takes away the disorder in which Bridge sends LIST lines, the FETCH responses of several messages and
    the mechanisms of AUTH. `authenticate_at_starts` counts down to the start from which AUTHENTICATE is gone (its flag acts
    from the second start after it was set).
    """

    show_all_mail: bool = True
    answers_in_order: bool = False
    has_idle: bool = True
    has_authenticate: bool = True
    idle_from_next_start: bool = True
    authenticate_at_starts: int = -1

    version: str | None = "03.21.01"
    """As the greeting and ID say it; None: neither says what it is."""

    suppresses_repeats: bool = True
    """A mail equal to one of the last half hour is answered 250 and not sent."""
    refused_sender_poisons: bool = True
    """A mail refused for its From header makes equal ones hang for 90 s."""
    throttles_failures: bool = True
    """After three quick failures sending is shut for 20 s."""
    ehlo_signs_out: bool = True
    """A second EHLO loses the login, without a word."""
    bare_dot_ends_data: bool = True
    """A dot alone on a line ends the text of a mail, also where lines end with LF only."""
    repeats_broken_calls: bool = True
    """Bridge itself makes an API call again whose connection broke, whether it was done or not."""
    accepts_a_second_sending: bool = True
    """The API delivers a draft again that was sent already (the fake does; the real one isn't known to)."""
    lost_network_closes_smtp: bool = True
    """When every try of a call broke, all SMTP connections are closed without an answer."""
    refused_recipient_closes_smtp: bool = True
    """Of several recipients one whose key is refused closes all SMTP connections after its 554."""
    appended_sent_mail_is_copied: bool = True
    """An APPEND equal to mail that was sent lately is a COPY of that mail."""

    # What no Bridge that was recorded does, and another version might.
    label_takes_place: bool = False
    """A label added takes a message out of its place."""
    unlabel_takes_place: bool = False
    """A label taken off takes a message out of its place as well."""
    move_loses_place: bool = False
    """A MOVE only takes a message out of its place."""
    expunge_hides: bool = False
    """What is expunged in Trash or Drafts is in no place any more, and not deleted."""
    star_marks_read: bool = False
    """A star also marks as read."""
