"""May this caller do this plan now? Pure functions over frozen values: no clock, no file, no mail."""
