"""Where the parts of a message are, and which of them a person reads."""
