"""Attached files (PDF, Office, tables, calendars, messages …) read as text, each in a child that can do nothing else."""
