"""Merges vendored manifests: a version of upstream that is one file, into local files that somebody else laid out."""
