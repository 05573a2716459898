"""Lists, searches and walks over whole mailboxes, each answer believed only as far as it can be true."""
