"""Tokens of an authorization server: JWTs by its keys, opaque ones by asking it. We issue none."""
