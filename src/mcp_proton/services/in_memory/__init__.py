"""Ports of a world that shares its store with nobody and ends with its process."""
