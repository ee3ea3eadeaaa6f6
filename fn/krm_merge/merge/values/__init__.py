"""Decides on the values of one resource: maps, lists, functions of a pipeline, images."""
