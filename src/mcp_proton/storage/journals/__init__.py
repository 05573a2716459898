"""The journal in the store: records, items, glances, and what was used of limits."""
