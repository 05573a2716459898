"""Files from https addresses, under guard: every resolved address checked, the connection pinned to it, no redirects."""
