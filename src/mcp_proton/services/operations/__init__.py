"""One file per family; each holds `Operation` and `Shorthand` values. The files do not know one another."""
