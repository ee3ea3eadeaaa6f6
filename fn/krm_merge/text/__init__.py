"""Lossless YAML: cut, read with spans, edit, and write again only what changed.

This room knows YAML and nothing of Kubernetes. `read` gives a tree whose nodes know where their text stands,
`Editor` changes that tree and renders the text again, `cut` splits a list of items without parsing them.
"""
