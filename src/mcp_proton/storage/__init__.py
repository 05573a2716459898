"""Where things are kept: files with their lines, the journal, artifacts, secrets. Only this package knows SQLAlchemy."""
