"""Settles the conflicts of one merge: a session that knows nothing of HTTP, a server, a page, and a terminal."""
