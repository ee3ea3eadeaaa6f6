"""The graph of components to look at: text, Graphviz, an HTML page."""
