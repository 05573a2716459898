"""How the store came to its present form, step by step. A released step is never edited."""
