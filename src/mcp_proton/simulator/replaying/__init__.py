"""Recordings of a real Bridge, played against the simulator, and what differs."""
