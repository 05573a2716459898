"""A mail from the request to its handing over, and a draft from version to version."""
