"""Messages from one account into another: carried, compared, found again, and what is lost on the way."""
