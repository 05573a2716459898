"""The always-on service: many clients over streamable HTTP, each known by its token and served by a server of its own."""
