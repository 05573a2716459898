"""Where an account's server is, how it is trusted, and what logs in."""
