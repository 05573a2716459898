"""What is shown: rows, texts, counts and refusals, within a budget of tokens."""
