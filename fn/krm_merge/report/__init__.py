"""Decisions as records, and the forms in which people and programs read them.

Nothing here merges, and the function does not import it.
"""
