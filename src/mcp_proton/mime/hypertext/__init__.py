"""HTML as a person would see it, and nothing that its sender hid."""
