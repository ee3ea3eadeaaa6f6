"""Carries decisions out in the text of local."""
