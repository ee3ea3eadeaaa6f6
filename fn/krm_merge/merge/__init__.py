"""Three-way merge of Kubernetes configuration: original, upstream, local. Decides; `decision.apply` carries out.

Pure: trees in, decisions out. The rules have the letters and numbers of the merge rules in `docs/rules.md`.
"""
