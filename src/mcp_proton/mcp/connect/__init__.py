"""The stdio connector: relays messages between a client's pipe and the always-on service. Standard library alone, to be
there at once and small.
"""
