"""Changing messages and mailboxes, a fate for each, and what became of a change whose answer was lost."""
