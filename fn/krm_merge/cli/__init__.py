"""The command line program for people: `krm-merge COMMAND`. Needs the extra `cli`."""
