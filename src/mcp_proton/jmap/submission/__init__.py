"""How mail leaves: the outbox, the one request that hands a mail over, its octets, and as whom it is sent."""
