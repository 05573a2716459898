"""An account on any JMAP server (RFC 8620, RFC 8621), behind the same port as every other."""
