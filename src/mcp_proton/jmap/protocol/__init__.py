"""Our JMAP client: HTTP towards one server, its session, method calls, events, and values out of its JSON."""
