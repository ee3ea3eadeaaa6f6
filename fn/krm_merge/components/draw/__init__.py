"""Draws the graph of components: text, Graphviz, an HTML page."""
