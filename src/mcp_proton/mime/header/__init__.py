"""Header fields as they are found in mailboxes → fields, addresses, dates, parameters."""
