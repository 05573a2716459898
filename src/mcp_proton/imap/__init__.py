"""Any mail account behind IMAP and SMTP: the wire client below, the port's verbs on top of it."""
