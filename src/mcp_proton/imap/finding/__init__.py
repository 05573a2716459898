"""Lists, searches and walks over whole mailboxes, and what is remembered for them."""
