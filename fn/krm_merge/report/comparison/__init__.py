"""How the outcome of another program differs from ours: what it loses, and what both decide alike."""
