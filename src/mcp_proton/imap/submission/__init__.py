"""Handing mail over by SMTP (RFC 6409), once."""
