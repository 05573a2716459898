"""Trying on a message of our own what a version of Bridge does, and what is known of which version."""
