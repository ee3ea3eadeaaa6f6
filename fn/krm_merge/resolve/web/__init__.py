"""The page in a browser: a server on this machine for one session."""
