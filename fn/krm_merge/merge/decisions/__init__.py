"""What a merge decides, as data: verdicts, natures of conflicts, policies, resolutions, and their results."""
