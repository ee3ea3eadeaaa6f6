"""The protocol of plugins: requests, responses, options, JSON patch operations."""
