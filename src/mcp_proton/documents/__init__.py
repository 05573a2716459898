"""Documents (PDF, Office, OpenDocument, RTF) read as text, each in a child process that can do nothing else."""
