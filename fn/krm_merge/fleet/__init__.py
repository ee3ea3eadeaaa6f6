"""Fleets: many packages that take one version of their upstream, merged on all cores and published at a forge's pace.

`campaign` is what was asked for, `merge` one target, `run` all of them, `ledger` what became of each. Merging is
`usecases`: there is no second way.
"""
