"""Mail as Bridge and Go's library read and print it."""
