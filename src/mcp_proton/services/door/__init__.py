"""The way of a request: planned, judged, journalled, performed; and what goes on behind it, after it or for its owner."""
