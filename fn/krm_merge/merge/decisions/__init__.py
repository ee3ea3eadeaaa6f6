"""The decisions of a merge, as data: verdicts, natures of conflicts, policies, resolutions, and their results."""
