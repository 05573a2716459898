"""Signing in: the authorization server's face of the service, for programs that are let in by a person (OAuth 2.1)."""
