"""What a plugin is asked and what it answers: requests, responses, options, JSON patch operations."""
