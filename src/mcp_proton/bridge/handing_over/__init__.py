"""Mail handed to Bridge, to be sent or to be kept: looked at before, handed over once, never doubled."""
