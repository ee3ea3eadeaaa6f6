"""Plans the pull requests that update components. Pure."""
