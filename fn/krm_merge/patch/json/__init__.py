"""JSON merge patches (RFC 7386) and JSON patches (RFC 6902)."""
