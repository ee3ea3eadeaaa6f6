"""Compares the operations of all plugins and settles their conflicts (rules T2 to T4). Pure."""
