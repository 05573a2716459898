"""A letter → octets, and an original → the letter that answers it or the draft it was."""
