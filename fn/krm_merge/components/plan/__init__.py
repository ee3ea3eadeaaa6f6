"""Plans the pull requests that bring components to one state. Pure."""
