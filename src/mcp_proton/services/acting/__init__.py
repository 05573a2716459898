"""What every act on mail has in common: what it would do, chunk by chunk, and what became of it."""
