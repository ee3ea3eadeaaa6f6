"""Looks for mistakes in a package that its next update, or kpt, would stumble over."""
